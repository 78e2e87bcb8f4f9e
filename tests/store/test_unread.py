"""The report on what is unread adds up, forgets, and stays small."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.databases import open_database
from tracejury_collector.store.unread import (
    FORGET_NS,
    MAX_KEYS_OF_SCOPE,
    MAX_ROWS,
    UnreadLog,
    list_unread,
)

NOW_NS = 1_790_000_000_000_000_000


def test_counts_of_several_processes_add_up_over_restarts(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with open_database(path) as db:
        log = UnreadLog(db, lambda: NOW_NS)
        log.add([("nova", "nova.prompt", 2, "first")]).result(10)
        log.add([("nova", "nova.prompt", 3, "second"), ("nova", "nova.answer", 1, "")]).result(10)
    with open_database(path) as db:
        UnreadLog(db, lambda: NOW_NS + 5).add([("nova", "nova.prompt", 1, "third")]).result(10)
        first, second = list_unread(db)
    assert (first.key, first.spans, first.example) == ("nova.prompt", 6, "first")
    assert (first.first_seen_ns, first.last_seen_ns) == (NOW_NS, NOW_NS + 5)
    assert (second.key, second.spans) == ("nova.answer", 1)


def test_one_report_may_name_a_place_twice(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        UnreadLog(db).add([("a", "k", 1, "x"), ("a", "k", 2, "y")]).result(10)
        assert [(row.spans, row.example) for row in list_unread(db)] == [(3, "x")]


def test_a_noisy_scope_leaves_room_for_others(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        log = UnreadLog(db)
        log.add([("noisy", f"k{n:04}", 1, "x") for n in range(500)]).result(10)
        log.add([("quiet", "k", 1, "x")]).result(10)
        rows = {(row.scope, row.key): row for row in list_unread(db)}
    assert len(rows) == MAX_KEYS_OF_SCOPE + 2
    assert rows["noisy", "other"].spans == 500 - MAX_KEYS_OF_SCOPE
    assert rows["noisy", "other"].example == ""
    assert ("quiet", "k") in rows


def test_the_table_is_bounded_and_loses_no_count(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        log = UnreadLog(db)
        for part in range(3):
            log.add([(f"scope {part} {n}", "k", 1, "x") for n in range(700)]).result(10)
        rows = list_unread(db)
    assert len(rows) == MAX_ROWS + 1
    assert sum(row.spans for row in rows) == 2100
    assert ("other", "other", 2100 - MAX_ROWS) in {(r.scope, r.key, r.spans) for r in rows}


def test_what_was_not_seen_for_a_month_or_is_read_by_now_is_forgotten(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        UnreadLog(db, lambda: NOW_NS).add([("a", "old", 1, "")]).result(10)
        later = UnreadLog(db, lambda: NOW_NS + FORGET_NS + 1)
        later.add([("a", "new", 1, ""), ("a", "read", 1, "")]).result(10)
        assert {row.key for row in list_unread(db)} == {"new", "read"}
        later.forget(lambda key: key == "read").result(10)
        assert {row.key for row in list_unread(db)} == {"new"}
