"""The worker finishes traces: when, as which revision, with which rows."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.jury import wait_until
from tests.helpers.worker import Bench, bench, child, log, root, trace_id
from tracejury_collector.assembling.assembly import InProcess
from tracejury_collector.assembling.batch import Assembled, Batch
from tracejury_collector.errors import AssemblyFailed
from tracejury_collector.store.dedup import DedupWindow
from tracejury_collector.worker import BATCH_TRACES

REVISIONS = "SELECT trace_id, revision, completed_by, span_count, superseded FROM base.traces"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as built:
        yield built


def test_a_marked_trace_is_finished_at_once(store: Bench) -> None:
    store.spans(child(marker=True))
    assert store.after(0) == 1
    assert store.rows(REVISIONS) == [(trace_id(1), 1, "marker", 1, False)]
    assert store.rows("FROM base.open_traces") == []


def test_a_trace_whose_root_ended_waits_for_quiet(store: Bench) -> None:
    store.spans(root())
    assert store.after(2.9) == 0
    store.spans(child())
    assert store.after(2.9) == 0
    assert store.after(0.2) == 1
    assert store.rows(REVISIONS) == [(trace_id(1), 1, "root_ended", 2, False)]


@pytest.mark.parametrize("rows", [[child()], [root(end_time_unix_nano=0, end_time=None)]])
def test_a_trace_without_an_ended_root_waits_for_idle(store: Bench, rows: list[object]) -> None:
    store.spans(*rows)  # type: ignore[arg-type]
    assert store.after(119) == 0
    assert store.after(1.1) == 1
    assert store.rows(REVISIONS) == [(trace_id(1), 1, "idle", 1, False)]


def test_a_trace_that_never_falls_quiet_is_finished_by_age(store: Bench) -> None:
    for number in range(2, 62):
        store.spans(child(number=number))
        assert store.after(60) == (1 if number == 61 else 0)
    assert store.rows(REVISIONS) == [(trace_id(1), 1, "max_age", 60, False)]


def test_log_records_count_as_arrivals_and_open_traces(store: Bench) -> None:
    store.spans(root())
    store.clock.advance(2)
    store.logs(log())
    assert store.after(2) == 0
    assert store.after(1.1) == 1
    store.logs(log(7))
    assert store.after(121) == 1
    assert store.rows(REVISIONS + " ORDER BY ALL")[1] == (trace_id(7), 1, "idle", 0, False)


def test_a_revision_holds_what_assembly_found(store: Bench) -> None:
    store.spans(root(), child(), child(number=3))
    store.after(4)
    found = store.rows("SELECT agent_name, tool_calls, has_root, root_ended FROM base.traces")
    assert found == [("booker", 2, True, True)]
    calls = store.rows("SELECT position, name, arguments FROM base.tool_calls ORDER BY position")
    assert calls == [(0, "search", '{"q":2}'), (1, "search", '{"q":3}')]


def test_many_traces_are_finished_in_batches(store: Bench) -> None:
    count = 2 * BATCH_TRACES + 1
    store.spans(*[root(n) for n in range(1, count + 1)])
    store.clock.advance(4)
    assert [store.worker.tick() for _ in range(4)] == [BATCH_TRACES, BATCH_TRACES, 1, 0]
    written = store.rows("SELECT count(*), count(DISTINCT trace_id) FROM base.traces")
    assert written == [(count, count)]
    decided = "SELECT count(*), count(DISTINCT decision_id) FROM base.decisions"
    assert store.rows(decided) == [(count, count)]


def test_late_spans_make_the_next_revision_after_the_same_wait(store: Bench) -> None:
    store.spans(root())
    store.after(4)
    store.clock.advance(600)
    store.spans(child())
    assert store.after(2.9) == 0
    assert store.after(0.2) == 1
    assert sorted(store.rows(REVISIONS)) == [
        (trace_id(1), 1, "root_ended", 1, True),
        (trace_id(1), 2, "root_ended", 2, False),
    ]
    assert store.rows("SELECT revision, superseded FROM base.tool_calls") == [(2, False)]


def test_late_spans_of_a_trace_without_an_ended_root_wait_for_idle(store: Bench) -> None:
    store.spans(child())
    store.after(121)
    store.spans(child(number=3))
    assert store.after(119) == 0
    assert store.after(1.1) == 1
    assert len(store.rows(REVISIONS)) == 2


def test_every_table_of_an_old_revision_is_superseded(store: Bench) -> None:
    for number in (2, 3, 4):
        store.spans(root(), child(number=number))
        store.after(4)
    assert store.rows(
        "SELECT revision, position, superseded FROM base.tool_calls ORDER BY ALL"
    ) == [
        (1, 0, True),
        (2, 0, True),
        (2, 1, True),
        (3, 0, False),
        (3, 1, False),
        (3, 2, False),
    ]
    assert store.rows("SELECT revision FROM base.traces WHERE NOT superseded") == [(3,)]


def test_exact_duplicates_are_dropped_and_counted(store: Bench) -> None:
    store.spans(root(), child())
    _copy_spans(store)
    store.after(4)
    assert store.rows("SELECT count(*) FROM base.spans") == [(2,)]
    assert store.rows("SELECT span_count FROM base.traces") == [(2,)]
    counters = store.db.counters()
    assert counters["stored", "spans"] == 2
    assert counters["duplicate", "spans"] == 2


def test_duplicates_alone_make_no_new_revision(store: Bench) -> None:
    store.spans(root(), child())
    store.after(4)
    _copy_spans(store)
    assert store.after(4) == 1
    assert store.rows("SELECT revision, superseded FROM base.traces") == [(1, False)]
    assert store.rows("SELECT count(*) FROM base.spans") == [(2,)]
    assert store.rows("FROM base.open_traces") == []
    assert store.rows("SELECT count(*) FROM base.decisions") == [(1,)]


def test_a_span_that_arrives_before_the_commit_puts_completion_off(store: Bench) -> None:
    store.spans(root(), root(2))
    store.clock.advance(4)
    _arrives_before_commit(store, child())
    store.worker.tick()
    assert store.rows("SELECT trace_id FROM base.traces") == [(trace_id(2),)]
    assert store.rows("SELECT target_id FROM base.decisions") == [(trace_id(2),)]
    store.after(4)
    assert store.rows(f"{REVISIONS} WHERE trace_id = '{trace_id(1)}'") == [
        (trace_id(1), 1, "root_ended", 2, False)
    ]


def test_a_flood_cannot_put_off_completion_by_age(store: Bench) -> None:
    store.spans(child())
    store.clock.advance(3599.9)
    store.spans(child(number=3))
    store.clock.advance(1)
    _arrives_before_commit(store, child(number=4))
    store.worker.tick()
    assert store.rows(REVISIONS) == [(trace_id(1), 1, "max_age", 2, False)]
    assert store.rows("SELECT span_count, marker_seen FROM base.open_traces") == [(1, False)]
    assert store.after(1) == 0
    assert store.after(120) == 1
    newest = store.rows(f"{REVISIONS} WHERE NOT superseded")
    assert newest == [(trace_id(1), 2, "idle", 3, False)]


def test_quiet_is_counted_anew_after_a_restart(store: Bench) -> None:
    store.spans(root())
    store.clock.advance(100)
    store.restart()
    assert store.after(2.9) == 0
    assert store.after(0.2) == 1


def test_a_restart_knows_what_was_reopened(store: Bench) -> None:
    store.spans(root())
    store.after(4)
    store.spans(child())
    store.restart()
    assert store.after(2.9) == 0
    assert store.after(0.2) == 1
    assert store.rows(f"{REVISIONS} WHERE NOT superseded")[0][1:4] == (2, "root_ended", 2)


def test_a_trace_that_cannot_be_finished_stops_no_other(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_on_three(traces: pa.Table, *others: Any) -> object:
        if trace_id(3) in traces.column("trace_id").to_pylist():
            raise MemoryError("no room for trace 3")
        return evaluate(traces, *others)

    evaluate = store.definitions.in_force().conditions.evaluate
    monkeypatch.setattr(store.definitions.in_force().conditions, "evaluate", fails_on_three)
    store.spans(*[root(n) for n in range(1, 8)])
    store.clock.advance(4)
    stop = threading.Event()
    running = threading.Thread(target=store.worker.run, args=[stop])
    running.start()
    try:
        wait_until(lambda: store.rows("SELECT count(*) FROM base.traces") == [(6,)])
    finally:
        stop.set()
        running.join()
    assert store.rows("SELECT trace_id FROM base.open_traces") == [(trace_id(3),)]


def test_a_trace_at_which_the_assembler_dies_is_finished_bare(store: Bench) -> None:
    class Dying(InProcess):
        def __call__(self, batches: Iterable[Batch]) -> Iterator[Assembled]:
            for batch in batches:
                if trace_id(3) in [task.trace_id for task in batch.tasks]:
                    raise AssemblyFailed("the assembler died at it 2 times")
                yield from super().__call__([batch])

    store.worker.assembling = Dying()
    store.spans(*[root(n) for n in range(1, 8)])
    store.clock.advance(4)
    stop = threading.Event()
    running = threading.Thread(target=store.worker.run, args=[stop])
    running.start()
    try:
        wait_until(lambda: store.rows("SELECT count(*) FROM base.traces") == [(7,)])
    finally:
        stop.set()
        running.join()
    bare = store.rows("SELECT trace_id, flags FROM base.traces WHERE span_count = 0")
    assert bare == [(trace_id(3), ["not_captured"])]


def _copy_spans(store: Bench) -> None:
    """Let every span slip past the window that drops resent ones."""
    store.appender._window = DedupWindow()
    store.spans(root(), child())


def _arrives_before_commit(store: Bench, row: dict[str, object]) -> None:
    """Receive a span after the next batch was loaded and before it is written."""
    write = store.db.write

    def late(operation):  # type: ignore[no-untyped-def]
        store.db.write = write  # type: ignore[method-assign]
        store.spans(row)
        return write(operation)

    store.db.write = late  # type: ignore[method-assign]
