"""The report on what no dialect reads: a small table of counts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import duckdb

from tracejury.dialects.unread import OTHER
from tracejury_collector.store.database import Database
from tracejury_collector.store.statements import statement

MAX_ROWS = 1_000
MAX_KEYS_OF_SCOPE = 100
"""More keys of one scope are counted together, so that one noisy scope leaves room for others."""
FORGET_NS = 30 * 86_400 * 1_000_000_000

Counted = tuple[str, str, int, str]
"""Scope, key, number of spans, example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An attribute (or `event NAME`) that no rule reads, and how often it was seen."""

    scope: str
    key: str
    spans: int
    example: str
    first_seen_ns: int
    last_seen_ns: int


class UnreadLog:
    """Adds up what several processes counted, across restarts."""

    def __init__(self, db: Database, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._db = db
        self._now_ns = now_ns

    def add(self, counted: Sequence[Counted]) -> Future[None]:
        """Add the counts; what no room is left for is counted under `OTHER`."""
        now_ns = self._now_ns()

        def merge(connection: duckdb.DuckDBPyConnection) -> None:
            _forget(connection, now_ns - FORGET_NS)
            known = connection.execute("SELECT scope, key FROM base.unread").fetchall()
            rows = _within_limits(counted, known)
            connection.execute(
                statement("count_unread"),
                {
                    "scopes": [scope for scope, _ in rows],
                    "keys": [key for _, key in rows],
                    "spans": [spans for spans, _ in rows.values()],
                    "examples": [example for _, example in rows.values()],
                    "now_ns": now_ns,
                },
            )

        return self._db.write(merge)

    def forget(self, is_read_now: Callable[[str], bool]) -> Future[None]:
        """Drop what rules read by now, and what was not seen for a month."""
        before_ns = self._now_ns() - FORGET_NS
        keys = sorted({row.key for row in list_unread(self._db) if is_read_now(row.key)})
        return self._db.write(lambda connection: _forget(connection, before_ns, keys))


def list_unread(db: Database) -> list[Unread]:
    """Return the report, most frequent first: at most `MAX_ROWS` and what is counted together."""
    return [Unread(**row) for row in db.rows("list_unread")]


def _forget(
    connection: duckdb.DuckDBPyConnection, before_ns: int, keys: Sequence[str] = ()
) -> None:
    params = {"before_ns": before_ns, "keys": list(keys)}
    connection.execute(statement("forget_unread"), params)


def _within_limits(
    counted: Iterable[Counted], known: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], tuple[int, str]]:
    """Return spans and example by scope and key, new ones only as far as there is room."""
    places = set(known)
    keys = Counter(scope for scope, _ in places)
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for scope, key, spans, example in counted:
        place = _place((scope, key), places, keys)
        if place not in places:
            places.add(place)
            keys[place[0]] += 1
        before, first = found.get(place, (0, example if place == (scope, key) else ""))
        found[place] = (before + spans, first)
    return found


def _place(
    wanted: tuple[str, str], places: set[tuple[str, str]], keys: Counter[str]
) -> tuple[str, str]:
    """Return where to count what was seen: there, or where the rest is counted."""
    if wanted in places:
        return wanted
    if len(places) >= MAX_ROWS:
        return (OTHER, OTHER)
    return wanted if keys[wanted[0]] < MAX_KEYS_OF_SCOPE else (wanted[0], OTHER)
