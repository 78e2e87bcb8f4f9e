"""What is old, or too much, is deleted: whole traces, oldest first, judgements later."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import Bench, bench, child, log, root, trace_id
from tracejury.labels import Label
from tracejury.result import Score
from tracejury_collector.config import parse_config
from tracejury_collector.errors import ConfigError
from tracejury_collector.retention import Retention
from tracejury_collector.store import removal
from tracejury_collector.store.labels import add_labels
from tracejury_collector.store.storage import measure_space

DAY_S = 86_400
ARRIVED = ("spans", "logs", "messages", "tool_calls", "llm_calls", "documents")
JUDGED = ("traces", "decisions", "results", "attempts", "labels")


@contextmanager
def kept(path: Path, **retention: Any) -> Iterator[Bench]:
    with bench(path, {"retention": retention}) as store:
        yield store


def delete(store: Bench) -> None:
    """Delete everything that is due at this moment."""
    retention = Retention(store.db, store.config.retention, store.clock)
    while retention.step():
        pass


def judged_trace(store: Bench, number: int, **fields: Any) -> None:
    store.spans(root(number, **fields), child(number, 2, **fields))
    store.logs(log(number, **{k: v for k, v in fields.items() if k == "project"}))
    store.after(4)
    store.judge(Score(1.0))


def traces_in(store: Bench, table: str) -> set[int]:
    column = "target_id" if table == "decisions" else "trace_id"
    return {int(row[0], 16) for row in store.rows(f"SELECT DISTINCT {column} FROM base.{table}")}


def test_arrivals_go_when_they_were_kept_long_enough_and_judgements_stay(tmp_path: Path) -> None:
    with kept(tmp_path, spans="30d") as store:
        judged_trace(store, 1)
        store.clock.advance(29 * DAY_S)
        judged_trace(store, 2)
        delete(store)
        assert traces_in(store, "spans") == {1, 2}
        store.clock.advance(2 * DAY_S)
        delete(store)
        assert traces_in(store, "spans") == traces_in(store, "logs") == {2}
        assert traces_in(store, "tool_calls") == traces_in(store, "messages") | {2} == {2}
        assert traces_in(store, "traces") == traces_in(store, "results") == {1, 2}
        assert traces_in(store, "decisions") == {1, 2}
        gone = (
            "SELECT spans_deleted_at IS NULL, input, output FROM traces ORDER BY trace_id LIMIT 1"
        )
        assert store.rows(gone) == [(False, None, None)]
        assert store.db.counters()["age", "deleted"] == 1


def test_judgements_and_totals_go_when_their_time_has_come(tmp_path: Path) -> None:
    with kept(tmp_path, spans="1d", results="10d") as store:
        judged_trace(store, 1)
        store.clock.advance(2 * DAY_S)
        judged_trace(store, 2)
        delete(store)
        store.clock.advance(9 * DAY_S)
        delete(store)
        for table in ("traces", "decisions", "results"):
            assert traces_in(store, table) == {2}, table
        decisions = "SELECT count(*) FROM base.decisions"
        attempts = "SELECT count(*) FROM base.attempts ANTI JOIN base.decisions USING (decision_id)"
        assert (store.rows(decisions), store.rows(attempts)) == ([(1,)], [(0,)])
        store.clock.advance(9 * DAY_S)
        delete(store)
        assert {t: traces_in(store, t) for t in ARRIVED + JUDGED[:3]} == {
            t: set() for t in ARRIVED + JUDGED[:3]
        }


def test_a_project_may_be_kept_longer_or_shorter_than_the_others(tmp_path: Path) -> None:
    projects = {"noisy": {"spans": "1d"}, "audit": {"spans": "forever"}}
    with kept(tmp_path, spans="7d", projects=projects) as store:
        for number, project in enumerate(("default", "noisy", "audit"), start=1):
            judged_trace(store, number, project=project)
        store.clock.advance(2 * DAY_S)
        delete(store)
        assert traces_in(store, "spans") == {1, 3}
        store.clock.advance(20 * DAY_S)
        delete(store)
        assert traces_in(store, "spans") == {3}


def test_what_is_open_or_waits_for_the_jury_is_left(tmp_path: Path) -> None:
    with kept(tmp_path, spans="1d") as store:
        judged_trace(store, 2)
        store.spans(root(1), child(1))
        store.after(4)
        store.clock.advance(2 * DAY_S)
        store.spans(child(2, 3))
        delete(store)
        assert traces_in(store, "spans") == {1, 2}
        store.judge(Score(1.0))
        store.worker.tick()
        store.judge(Score(1.0))
        delete(store)
        assert traces_in(store, "spans") == {2}, "the late span began its time anew"


def rows_of(store: Bench, trace: int) -> dict[str, list[str]]:
    """Return what each table holds of a trace, as text."""
    columns = {"decisions": "target_id", "attempts": "decision_id"}
    found = {}
    for table in (*ARRIVED, *JUDGED):
        wanted = f"SELECT '{trace_id(trace)}'"
        if table == "attempts":
            wanted = f"SELECT decision_id FROM base.decisions WHERE target_id = '{trace_id(trace)}'"
        sql = f"SELECT * FROM base.{table} WHERE {columns.get(table, 'trace_id')} IN ({wanted})"
        found[table] = sorted(map(str, store.rows(sql)))
    return found


def said(trace: int, number: int) -> Label:
    return Label(label_id=f"l{number}", name="ok", source="api", trace_id=trace_id(trace))


def a_long_life(store: Bench, trace: int) -> None:
    """A trace that is labeled before it begins and after its end, and finished three times."""
    add_labels(store.db, [said(trace, trace)], store.clock())
    judged_trace(store, trace)
    for number in (3, 4):
        store.spans(child(trace, number))
        store.after(200)
        store.judge(Score(0.0))
    add_labels(store.db, [said(trace, 100 + trace)], store.clock())
    attempts = "INSERT INTO base.attempts SELECT decision_id, 'e', 'f', 1, decided_at"
    of_it = f"FROM base.decisions WHERE target_id = '{trace_id(trace)}'"
    store.db.write(lambda c: c.execute(f"{attempts} {of_it}").fetchall()).result()


@pytest.mark.parametrize("results", ["1d", "forever"])
def test_nothing_is_left_of_what_goes_and_nothing_is_gone_of_what_stays(
    tmp_path: Path, results: str
) -> None:
    projects = {"kept": {"spans": "forever", "results": "forever"}}
    with kept(tmp_path, spans="1d", results=results, projects=projects) as store:
        judged_trace(store, 1, project="kept")
        a_long_life(store, 2)
        judged_trace(store, 3, project="kept")
        a_long_life(store, 4)
        store.clock.advance(2 * DAY_S)
        store.spans(child(3, 5, project="kept"))
        store.after(200)
        judged_trace(store, 5)
        before = {trace: rows_of(store, trace) for trace in range(1, 6)}
        delete(store)
        for trace in (1, 3, 5):
            assert rows_of(store, trace) == before[trace]
        gone = ARRIVED if results == "forever" else (*ARRIVED, *JUDGED)
        for trace in (2, 4):
            left = rows_of(store, trace)
            assert {table for table in gone if left[table]} == set()
            stays = set(JUDGED) - set(gone) - {"traces"}
            assert {t: left[t] for t in stays} == {t: before[trace][t] for t in stays}
            assert all(before[trace][table] for table in JUDGED)


def test_of_too_much_the_oldest_goes_until_the_rest_fits(tmp_path: Path) -> None:
    with kept(tmp_path, size="2MiB") as store:
        for number in range(1, 21):
            noise = random.Random(number).randbytes(60_000).hex()
            store.spans(root(number, attributes=f'{{"noise":"{noise}"}}'))
        store.clock.advance(200)
        while store.worker.tick():
            pass
        store.judge(Score(1.0))
        store.db.checkpoint().result()
        assert measure_space(store.db).live_bytes > 2 << 20
        for _ in range(5):
            delete(store)
            store.clock.advance(61)
        left = traces_in(store, "spans")
        assert 2 < len(left) < 19
        assert left == set(range(21 - len(left), 21))
        assert traces_in(store, "decisions") == set(range(1, 21))
        assert measure_space(store.db).live_bytes <= 2 << 20
        assert store.db.counters()["size", "deleted"] == 20 - len(left)


def test_of_a_project_that_holds_too_much_its_own_go(tmp_path: Path) -> None:
    with kept(tmp_path, projects={"noisy": {"size": "1MiB"}}) as store:
        for number in range(1, 21):
            noise = random.Random(number).randbytes(60_000).hex()
            project = "noisy" if number % 2 else "default"
            store.spans(root(number, attributes=f'{{"noise":"{noise}"}}', project=project))
        store.clock.advance(200)
        while store.worker.tick():
            pass
        store.judge(Score(1.0))
        store.db.checkpoint().result()
        delete(store)
        left = traces_in(store, "spans")
        odd = {number for number in left if number % 2}
        assert left - odd == set(range(2, 21, 2))
        assert 0 < len(odd) < 10
        assert odd == set(range(21 - 2 * len(odd), 21, 2))


def test_nothing_is_deleted_by_default(tmp_path: Path) -> None:
    with kept(tmp_path) as store:
        judged_trace(store, 1)
        store.clock.advance(10_000 * DAY_S)
        delete(store)
        assert traces_in(store, "spans") == {1}


def test_it_deletes_nothing_while_it_is_held(tmp_path: Path) -> None:
    with kept(tmp_path, spans="1d") as store:
        judged_trace(store, 1)
        store.clock.advance(2 * DAY_S)
        held = Retention(store.db, store.config.retention, store.clock, lambda: True)
        assert not held.step()
        assert traces_in(store, "spans") == {1}


def test_whoever_is_killed_in_between_finds_the_same_traces_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept(tmp_path, spans="1d") as store:
        judged_trace(store, 1)
        store.clock.advance(2 * DAY_S)
        with monkeypatch.context() as broken:
            broken.setattr(removal, "_MADE", ("messages", "tool_calls", "unknown"))
            with pytest.raises(Exception, match="unknown"):
                delete(store)
        assert store.rows("SELECT spans_deleted_at FROM base.traces") == [(None,)]
        store.restart()
        delete(store)
        assert {table: traces_in(store, table) for table in ARRIVED} == {t: set() for t in ARRIVED}


def test_one_write_deletes_no_more_than_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "WRITE_ROWS", 3)
    with kept(tmp_path, spans="1d") as store:
        for number in range(1, 6):
            judged_trace(store, number)
        store.clock.advance(2 * DAY_S)
        delete(store)
        assert traces_in(store, "spans") == set()


def test_a_run_judges_no_trace_whose_spans_are_gone(tmp_path: Path) -> None:
    with kept(tmp_path, spans="1d") as store:
        judged_trace(store, 1)
        store.clock.advance(2 * DAY_S)
        judged_trace(store, 2)
        delete(store)
        wanted = {"since_ns": None, "until_ns": None, "trace_ids": None}
        window = {"before_seq": 1 << 40, "from_seq": 0}
        assert store.db.rows("count_targets", {**wanted, **window})[0]["targets"] == 1


def test_a_span_that_comes_after_all_makes_a_revision_of_its_own(tmp_path: Path) -> None:
    with kept(tmp_path, spans="1d") as store:
        judged_trace(store, 1)
        store.clock.advance(2 * DAY_S)
        delete(store)
        store.spans(child(1, 9))
        store.after(200)
        current = "SELECT revision, span_count, spans_deleted_at FROM traces"
        assert store.rows(current) == [(2, 1, None)]


@pytest.mark.parametrize(
    "settings",
    [
        {"spans": "30d", "results": "7d"},
        {"results": "7d"},
        {"spans": "30d", "results": "60d", "projects": {"p": {"spans": "90d"}}},
        {"spans": "soon"},
        {"size": "0GiB"},
        {"projects": {"": {"spans": "1d"}}},
        {"span": "1d"},
    ],
)
def test_limits_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="retention"):
        parse_config({"retention": settings})


def test_limits_survive_the_way_to_the_processes() -> None:
    written = {"spans": "30d", "results": "forever", "projects": {"p": {"spans": "forever"}}}
    config = parse_config({"retention": written})
    again = type(config).model_validate_json(config.model_dump_json()).retention
    assert again == config.retention
    assert (again.ages_of(""), again.ages_of("p")) == ((30 * DAY_S, None), (None, None))
