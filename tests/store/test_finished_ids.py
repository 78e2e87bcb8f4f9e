"""A trace that has a revision is never taken for a new one; a new one is rarely looked up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.worker import bench, child, root, trace_id
from tracejury_collector.store import finished_ids, trace_pages
from tracejury_collector.store.finished_ids import FinishedIds

_OLD = [trace_id(n) for n in range(1, 60)]
_NEW = [trace_id(n) for n in range(1000, 1500)]


def test_until_the_history_was_read_every_trace_may_be_in_it() -> None:
    known = FinishedIds()
    known.note(_OLD)
    assert known.among(_NEW) == _NEW


def test_what_was_finished_is_known_after_a_start_and_new_ids_are_not(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(*[span for n in range(1, 60) for span in (root(n), child(n, 2))])
        store.after(4)
        store.restart()
        store.worker.tick()
        assert store.db.finished.among(_OLD) == _OLD
        assert store.db.finished.among(_NEW) == []


def test_what_is_finished_later_is_known_at_once(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.worker.tick()
        assert store.db.finished.among(_OLD) == []
        store.spans(*[span for n in range(1, 60) for span in (root(n), child(n, 2))])
        store.after(4)
        assert store.db.finished.among(_OLD) == _OLD


@pytest.mark.parametrize("restarted", [False, True])
def test_late_spans_make_a_next_revision_and_no_second_row_in_lists(
    tmp_path: Path, restarted: bool
) -> None:
    with bench(tmp_path) as store:
        store.worker.tick()
        store.spans(root(1), root(2))
        store.after(4)
        if restarted:
            store.restart()
            store.worker.tick()
        store.spans(child(1, 2), root(3))
        listed = trace_pages.list_traces(store.db, trace_pages.TraceFilter())
        assert [(row["trace_id"], row["revision"], row["status"]) for row in listed] == [
            (trace_id(3), 0, "open"),
            (trace_id(2), 1, "complete"),
            (trace_id(1), 1, "open"),
        ]
        store.after(20)
        assert store.rows(
            "SELECT trace_id, revision FROM base.traces WHERE NOT superseded ORDER BY ALL"
        ) == [(trace_id(1), 2), (trace_id(2), 1), (trace_id(3), 1)]


def test_keys_are_those_of_the_database(tmp_path: Path) -> None:
    ids = [*_OLD, "f" * 32, "0" * 32, "0123456789abcdef" * 2, "8" + "0" * 31]
    with bench(tmp_path) as store, store.db.read() as cursor:
        for each in ids:
            key = cursor.execute("SELECT base.id_key($1)", [each]).fetchall()[0][0]
            assert finished_ids._keys([each]).tolist() == [key]


@pytest.mark.parametrize("odd", ["", "t1", "F" * 32, "0x" + "1" * 30, "1_0" + "0" * 29, "٣" * 32])
def test_an_id_of_another_form_is_always_looked_up(tmp_path: Path, odd: str) -> None:
    with bench(tmp_path) as store:
        store.worker.tick()
        assert store.db.finished.among([odd, *_NEW]) == [odd]


def test_what_was_deleted_is_forgotten_when_the_history_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finished_ids, "_RENEWED_AT_LEAST", 100)
    with bench(tmp_path) as store:
        store.spans(*[root(n) for n in range(1, 60)])
        store.after(4)
        known = FinishedIds()
        with store.db.read() as cursor:
            known.renew(cursor)
            gone = f"DELETE FROM base.traces WHERE trace_id <> '{_OLD[0]}'"
            store.db.write(lambda connection: connection.execute(gone)).result()
            known.renew(cursor)
            assert known.among(_OLD) == _OLD
            known.note(_NEW)
            known.renew(cursor)
        assert known.among(_OLD) == _OLD[:1]
        assert known.among(_NEW) == []
