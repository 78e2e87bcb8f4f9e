"""Rounds of a compaction: each takes what has come since the one before, and that alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.helpers.worker import Bench, bench, child, log, root, trace_id
from tracejury.labels import Label
from tracejury.result import Score
from tracejury_collector.store.compaction import Compaction
from tracejury_collector.store.copying import count
from tracejury_collector.store.following import BY_TRACE, GROWING
from tracejury_collector.store.labels import add_labels

FOLLOWED = (*BY_TRACE, *(table.name for table in GROWING))
FAR = 30_000
"""More sequence numbers than are read to spare a question."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as built:
        yield built


class Rounds:
    """A compaction that is brought up to date round by round."""

    def __init__(self, store: Bench) -> None:
        self._store = store
        self._copied: list[int] = []
        path = f"{store.path}.compacted"
        self._compaction = Compaction(store.db, path, store.config.database, self._copied.append)

    def next(self) -> int:
        """Return how many rows the next round copies."""
        self._copied.clear()
        self._compaction.catch_up()
        return sum(self._copied)

    def swap(self) -> None:
        """Put the new file in place, and see that it holds the same."""
        before = contents(self._store)
        self._compaction.replace(60)
        assert contents(self._store) == before


@pytest.fixture
def rounds(store: Bench) -> Rounds:
    return Rounds(store)


def contents(store: Bench) -> dict[str, list[str]]:
    return {name: sorted(map(str, store.rows(f"SELECT * FROM base.{name}"))) for name in FOLLOWED}


def rows(store: Bench) -> int:
    with store.db.read() as cursor:
        return sum(count(cursor, name) for name in FOLLOWED)


def said(number: int) -> Label:
    return Label(label_id=f"l{number}", name="ok", source="api", trace_id=trace_id(1))


def write(store: Bench, sql: str) -> None:
    def run(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(sql)

    store.db.write(run).result()


def test_a_round_copies_what_is_new_and_nothing_else(store: Bench, rounds: Rounds) -> None:
    store.spans(*(root(n) for n in range(1, 30)))
    store.after(200)
    store.judge(Score(1.0))
    assert rounds.next() == rows(store) > 100
    assert rounds.next() == 0
    there = rows(store)
    store.spans(child(2, 9), root(50), child(50))
    assert rounds.next() == 3
    store.after(200)
    store.judge(Score(0.0))
    assert rounds.next() == rows(store) - there - 3 >= 10
    assert rounds.next() == 0
    rounds.swap()


def test_traces_that_are_finished_again_may_lie_anywhere(store: Bench, rounds: Rounds) -> None:
    for n in range(1, 6):
        store.appender._next_seq = n * FAR
        store.spans(root(n), child(n))
        store.logs(log(n))
    store.after(200)
    store.judge(Score(1.0))
    rounds.next()
    for number in (3, 4):  # twice between two rounds: the one before is never seen current
        store.spans(*(child(n, number) for n in (1, 3, 5)))
        store.after(200)
        store.judge(Score(0.0))
    there = store.rows("SELECT count(*) FROM base.traces WHERE superseded")
    assert there == [(6,)]
    rounds.next()
    rounds.swap()


def test_what_was_deleted_after_it_was_copied_is_not_in_the_copy(
    store: Bench, rounds: Rounds
) -> None:
    add_labels(store.db, [said(n) for n in range(5)], store.clock())
    attempts = "INSERT INTO base.attempts SELECT 'd' || n, 'e', 'f', 1, make_timestamp_ns(n * 30"
    write(store, f"{attempts}_000_000_000) FROM range(9) AS r(n)")
    rounds.next()
    write(store, "DELETE FROM base.labels WHERE label_id IN ('l1', 'l4')")
    write(store, "DELETE FROM base.attempts WHERE decision_id IN ('d0', 'd4', 'd8')")
    store.clock.advance(300)
    add_labels(store.db, [said(9)], store.clock())
    rounds.next()
    write(store, "DELETE FROM base.labels WHERE label_id = 'l2'")
    rounds.swap()


def test_results_that_a_session_supersedes_are_so_in_the_copy(store: Bench, rounds: Rounds) -> None:
    store.spans(root(1), root(2))
    store.after(200)
    store.judge(Score(1.0))
    write(
        store, f"UPDATE base.results SET target_kind = 'session' WHERE trace_id = '{trace_id(1)}'"
    )
    rounds.next()
    write(store, "UPDATE base.results SET superseded = true WHERE target_kind = 'session'")
    rounds.next()
    rounds.swap()
