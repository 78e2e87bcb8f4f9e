"""The table of definitions: events in the life of rules and evaluators, only ever appended."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Literal

import duckdb

from tracejury_collector.store.database import Database
from tracejury_collector.store.statements import statement

KEPT = 10_000
"""Versions that are kept for history; those in force are kept beyond."""

DefinitionKind = Literal["evaluator", "rule"]
Source = Literal["file", "default", "api"]
State = Literal["in_force", "ended", "suspended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionEvent:
    """What began for a definition at a time; `body` and `seat` are JSON.

    `identity` tells an evaluator with its default criteria from all others, "" for rules.
    """

    kind: DefinitionKind | Literal["trial"]
    name: str
    source: Source
    state: State = "in_force"
    fingerprint: str
    identity: str = ""
    body: str
    seat: str | None = None
    note: str = ""
    effective_from_ns: int


def append_definitions(
    db: Database, events: Sequence[DefinitionEvent], kept: int = KEPT
) -> Future[None]:
    """Append the events in their order, all or none; forget the oldest that no one needs.

    Raises: Unavailable when the database is closed.
    """
    rows = [asdict(event) for event in events]

    def append(connection: duckdb.DuckDBPyConnection) -> None:
        for row in rows:
            connection.execute(statement("insert_definition"), row)
        connection.execute(statement("forget_definitions"), {"kept": kept})

    return db.write(append)


def latest_definitions(db: Database) -> list[DefinitionEvent]:
    """Return the last event of each (kind, name, source), oldest first.

    Raises: Unavailable or duckdb.Error when the database cannot be read now.
    """
    return [DefinitionEvent(**row) for row in db.rows("latest_definitions")]


def seat_json(db: Database, identity: str) -> str | None:
    """Return the seat that was last recorded with this identity, as JSON; None for an unknown one.

    Raises: Unavailable or duckdb.Error when the database cannot be read now.
    """
    with db.read() as cursor:
        row = cursor.execute(statement("seat_of_identity"), {"identity": identity}).fetchone()
    return str(row[0]) if row else None
