"""Spans so large that DuckDB cannot keep their neighbors in memory beside them."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest

from tests.helpers.service import eventually
from tests.helpers.store import span_row, span_table
from tests.helpers.worker import Bench, bench, root, trace_id
from tracejury_collector.config import StorageSettings
from tracejury_collector.errors import Unavailable
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database

MIB = 1 << 20
SMALL = StorageSettings(memory=64 * MIB, checkpoint_wal=8 * MIB)
SPANS = 24


@pytest.mark.slow
def test_large_spans_in_a_row_are_stored_and_found_after_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    db = Database.open(path, SMALL)
    appender = Appender(db)
    try:
        for number in range(SPANS):
            _append_until_taken(appender, number)
    finally:
        db.close()
    again = Database.open(path, StorageSettings(memory=1024 * MIB))
    try:
        with again.read() as cursor:
            found = cursor.execute(
                "SELECT count(DISTINCT span_id), count(*), min(length(attributes)) FROM base.spans"
            ).fetchall()
        assert found[0][:2] == (SPANS, SPANS)
        assert found[0][2] > 4 * MIB
    finally:
        again.close()


@pytest.mark.slow
def test_a_trace_that_is_too_large_is_finished_and_holds_up_no_neighbor(tmp_path: Path) -> None:
    small = {"memory": "64MiB", "checkpoint_wal": "8MiB"}
    with bench(tmp_path, {"database": small}) as store:
        store.spans(root(1))
        for number in range(SPANS):
            _append_until_taken(store.appender, number)
        store.spans(root(3))
        store.restart()
        store.clock.advance(4000)
        stop = threading.Event()
        working = threading.Thread(target=store.worker.run, args=[stop])
        working.start()
        try:
            eventually(lambda: _finished(store) == [1, 2, 3], "all three are finished")
            decided = store.rows("SELECT count(*), count(DISTINCT target_id) FROM decisions")
            assert decided == [(3, 3)]
        finally:
            stop.set()
            working.join()


def _finished(store: Bench) -> list[int]:
    with contextlib.suppress(Unavailable):  # while the database is opened with more memory
        found = {row[0] for row in store.rows("SELECT trace_id FROM base.traces")}
        return [number for number in (1, 2, 3) if trace_id(number) in found]
    return []


def _append_until_taken(appender: Appender, number: int) -> None:
    """Append one large span like an exporter does, which comes again after an Unavailable."""
    attributes = f'{{"text":"{os.urandom(2 * MIB).hex()}"}}'
    table = span_table(
        [span_row(span_id=f"{number + 1:016x}", trace_id=trace_id(2), attributes=attributes)]
    )
    for _ in range(5):
        try:
            appender.append("spans", table, 0).result(30)
        except Unavailable:
            continue
        return
    raise AssertionError(f"span {number} was never taken")
