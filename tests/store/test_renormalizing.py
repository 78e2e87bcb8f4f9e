"""History is read again by the dialects in force; what comes out differently is judged again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.dialects import use_dialects
from tracejury.dialects.custom import parse_dialect
from tracejury.result import Score
from tracejury_collector.canonical import COLUMNS, canonical_row
from tracejury_collector.errors import Conflict, NotFound
from tracejury_collector.renormalizing import Renormalizer
from tracejury_collector.rules.pacing import MINUTE_NS
from tracejury_collector.store.renormalizations import StoredSpan, load_spans

ACME = {
    "name": "acme",
    "prefixes": ["acme."],
    "kinds": [{"key": "acme.answer", "always": "agent"}],
    "rules": [
        {"field": "output", "attr": "acme.answer"},
        {"field": "input_tokens", "attr": "acme.tokens"},
    ],
}
SPAN = {"attributes": '{"acme.answer":"The train leaves at nine.","acme.tokens":12}'}
LEDGER = (
    "SELECT target_id, revision, outcome, count(*) FROM base.decisions GROUP BY ALL ORDER BY ALL"
)


def seen(row: dict[str, Any]) -> dict[str, Any]:
    """Return the span as it is stored when it arrives under the dialects of this moment."""
    canonical = canonical_row(
        scope_name="tests",
        resource={"service.name": "booking"},
        name=row["name"],
        attributes=json.loads(row["attributes"]),
        events=[],
        otel_kind=row["otel_kind"],
    )
    return {**row, **dict(zip(COLUMNS, canonical, strict=True))}


@contextmanager
def acme() -> Iterator[None]:
    """Have the dialect in force that reads what these spans say."""
    use_dialects([parse_dialect(ACME, "acme.yaml").dialect])
    try:
        yield
    finally:
        use_dialects([])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as built:
        yield built


def renormalizer(store: Bench) -> Renormalizer:
    return Renormalizer(store.db, store.worker.revise, store.clock)


def again(store: Bench, **asked: Any) -> dict[str, Any]:
    """Have everything read again; return the report."""
    reading = renormalizer(store)
    request = reading.request(**{"since_ns": None, "until_ns": None, "dry_run": False, **asked})
    while reading.step():
        store.clock.advance(0.01)
    found = reading.find(request.id)
    assert found.state == "done"
    return found.report


def test_what_comes_out_as_before_is_left_alone(store: Bench) -> None:
    store.spans(seen(root(1)), seen(child(1)), seen(root(2)))
    store.after(4)
    report = again(store)
    assert (report["spans"], report["traces"]) == (3, 2)
    assert (report["spans_changed"], report["traces_changed"], report["columns"]) == (0, 0, {})
    assert store.rows("SELECT max(revision) FROM base.traces") == [(1,)]


def test_a_new_dialect_rewrites_columns_and_makes_a_revision_that_is_judged(store: Bench) -> None:
    store.spans(seen(root(1, **SPAN)), seen(root(2)))
    store.after(4)
    store.judge(Score(1.0))
    with acme():
        report = again(store)
    assert (report["spans_changed"], report["traces_changed"]) == (1, 1)
    assert report["columns"]["spans.output"] == {"gained": 1}
    assert report["columns"]["traces.output"] == {"gained": 1}
    assert report["examples"] == [trace_id(1)]
    columns = "SELECT output, input_tokens, dialect FROM base.spans ORDER BY seq LIMIT 1"
    assert store.rows(columns) == [("The train leaves at nine.", 12, "acme")]
    traces = "SELECT revision, output, superseded FROM base.traces WHERE trace_id = ? ORDER BY ALL"
    assert store.rows(traces.replace("?", f"'{trace_id(1)}'")) == [
        (1, None, True),
        (2, "The train leaves at nine.", False),
    ]
    assert store.rows(LEDGER) == [
        (trace_id(1), 1, "selected", 1),
        (trace_id(1), 2, "selected", 1),
        (trace_id(2), 1, "selected", 1),
    ]
    results = "SELECT trace_id, superseded, count(*) FROM base.results GROUP BY ALL ORDER BY ALL"
    assert store.rows(results) == [(trace_id(1), True, 2), (trace_id(2), False, 2)]
    assert store.judge(Score(0.5)) == 2
    with acme():
        assert again(store)["traces_changed"] == 0


def test_a_dry_run_tells_and_changes_nothing(store: Bench) -> None:
    store.spans(seen(root(1, **SPAN)))
    store.after(4)
    before = store.rows("SELECT * FROM base.spans"), store.rows("SELECT * FROM base.traces")
    with acme():
        report = again(store, dry_run=True)
    assert (report["spans_changed"], report["traces_changed"]) == (1, 1)
    after = store.rows("SELECT * FROM base.spans"), store.rows("SELECT * FROM base.traces")
    assert after == before


def test_it_goes_on_where_a_killed_service_stopped(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracejury_collector.renormalizing.PAGE_SEQS", 2)
    store.spans(*[seen(root(n, **SPAN)) for n in range(1, 10)])
    store.after(4)
    with acme():
        reading = renormalizer(store)
        request = reading.request(since_ns=None, until_ns=None, dry_run=False)
        for _ in range(5):
            assert reading.step()
            store.restart()
            reading = renormalizer(store)
        assert not reading.step()
    found = reading.find(request.id)
    assert (found.state, found.report["spans"], found.report["traces_changed"]) == ("done", 9, 9)
    revisions = "SELECT revision, superseded, count(*) FROM base.traces GROUP BY ALL ORDER BY ALL"
    assert store.rows(revisions) == [(1, True, 9), (2, False, 9)]


def test_an_open_trace_is_left_to_be_finished(store: Bench) -> None:
    store.spans(seen(root(1, **SPAN)))
    store.after(4)
    store.spans(seen(child(1, 5)))
    with acme():
        report = again(store)
        assert (report["spans_changed"], report["traces_changed"]) == (1, 0)
        store.after(4)
    current = "SELECT revision, output FROM base.traces WHERE NOT superseded"
    assert store.rows(current) == [(2, "The train leaves at nine.")]


def test_a_trace_that_opens_in_between_keeps_its_revision(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.spans(seen(root(1, **SPAN)))
    store.after(4)
    revise = store.worker.revise

    def late(*args: Any) -> None:
        store.spans(seen(child(1, 5)))
        revise(*args)

    monkeypatch.setattr(store.worker, "revise", late)
    with acme():
        again(store)
        monkeypatch.undo()
        assert store.rows("SELECT revision FROM base.traces") == [(1,)]
        store.after(4)
    assert store.rows("SELECT revision FROM base.traces ORDER BY ALL") == [(1,), (2,)]


def test_since_takes_spans_received_then_and_the_traces_they_belong_to(store: Bench) -> None:
    store.spans(seen(root(1, **SPAN)), seen(root(2, **SPAN)))
    store.after(4)
    since_ns = store.clock.now_ns + 1
    store.spans(seen(child(1, 5)))
    store.spans(seen(root(3, **SPAN)))
    store.after(4)
    with acme():
        report = again(store, since_ns=since_ns)
    assert (report["spans"], report["spans_changed"]) == (2, 1)
    assert sorted(report["examples"]) == [trace_id(1), trace_id(3)]


def test_only_one_runs_at_a_time_and_can_be_canceled(store: Bench) -> None:
    store.spans(seen(root(1)))
    store.after(4)
    reading = renormalizer(store)
    request = reading.request(since_ns=None, until_ns=None, dry_run=True)
    with pytest.raises(Conflict, match=request.id):
        reading.request(since_ns=None, until_ns=None, dry_run=True)
    assert reading.cancel(request.id).state == "canceled"
    assert not reading.step()
    with pytest.raises(NotFound):
        reading.cancel("other")


def test_nothing_stored_is_done_at_once(store: Bench) -> None:
    assert again(store)["spans"] == 0


def test_what_went_before_stays_with_a_trace_that_is_read_again(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(seen(root(trace_state="ot=th:c")))
        store.after(4)
        assert again(store)["traces_changed"] == 0
        store.spans(root(2, **SPAN, trace_state="ot=th:8"))
        store.after(4)
        with acme():
            again(store)
        kept = "SELECT trace_id, revision, upstream_probability FROM base.traces ORDER BY ALL"
        assert store.rows(kept) == [
            (trace_id(1), 1, 0.25),
            (trace_id(2), 1, 0.5),
            (trace_id(2), 2, 0.5),
        ]


def test_a_trace_that_is_read_again_is_drawn_with_the_chance_that_it_had(tmp_path: Path) -> None:
    rules = {"r": {"evaluators": ["no-loops"], "sample": {"per_minute": 5}}}
    with bench(tmp_path, {"rules": rules}) as store:
        store.clock.now_ns += 60 * 10**9 - store.clock.now_ns % (60 * 10**9)
        store.spans(*(root(n, **SPAN) for n in range(1, 6)))
        store.after(4)
        store.clock.advance(56)
        store.spans(*(root(n) for n in range(100, 200)))
        store.after(4)
        store.clock.advance(56)
        with acme():
            again(store)
        drawn = "SELECT DISTINCT outcome, probability FROM base.decisions WHERE revision = 2"
        assert store.rows(drawn) == [("selected", 1.0)]


@pytest.mark.parametrize("error", [duckdb.OutOfMemoryException("16 MiB"), RuntimeError("odd")])
def test_an_arrival_that_cannot_be_read_again_is_passed_over(
    store: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for number in range(1, 9):
        store.spans(seen(root(number, **SPAN)))
    store.after(4)
    ((bad,),) = store.rows(f"SELECT seq FROM base.spans WHERE trace_id = '{trace_id(5)}'")

    def load(db: Any, first_seq: int, last_seq: int) -> list[StoredSpan]:
        if first_seq <= bad <= last_seq:
            raise error
        return load_spans(db, first_seq, last_seq)

    monkeypatch.setattr("tracejury_collector.renormalizing.load_spans", load)
    with acme():
        report = again(store)
    assert (report["unreadable"], report["spans"], report["traces_changed"]) == (1, 7, 7)


def test_what_is_read_again_is_no_traffic_of_the_minute(tmp_path: Path) -> None:
    rules = {"r": {"evaluators": ["no-loops"], "sample": {"per_minute": 5}}}
    with bench(tmp_path, {"rules": rules}) as store:
        store.clock.now_ns += MINUTE_NS - store.clock.now_ns % MINUTE_NS
        for minute in range(4):
            store.spans(*(root(n, **SPAN) for n in range(5 * minute + 1, 5 * minute + 6)))
            store.after(4)
            store.clock.advance(56)
        with acme():
            again(store)
        counted = "SELECT outcome, count(*) FROM base.decisions WHERE revision = 2 GROUP BY ALL"
        assert store.rows(counted) == [("selected", 20)]
        store.spans(*(root(n) for n in range(101, 106)))
        store.after(4)
        live = "SELECT outcome, count(*) FROM base.decisions WHERE target_id > '{}' GROUP BY ALL"
        assert store.rows(live.format(trace_id(100))) == [("selected", 5)]
        store.clock.advance(60)
        store.spans(root(200))
        store.after(4)
        chance = f"SELECT probability FROM base.decisions WHERE target_id = '{trace_id(200)}'"
        assert store.rows(chance) == [(1.0,)]


def test_what_is_read_again_is_judged_however_often_it_came(tmp_path: Path) -> None:
    with bench(tmp_path, {"completion": {"max_revisions": 1}}) as store:
        store.spans(seen(root(1, **SPAN)))
        store.after(4)
        with acme():
            again(store)
        assert store.rows("SELECT revision, outcome FROM base.decisions ORDER BY ALL") == [
            (1, "selected"),
            (2, "selected"),
        ]
        store.spans(child(1, 5))
        store.after(200)
        last = "SELECT outcome, reason FROM base.decisions WHERE revision = 3"
        ((outcome, reason),) = store.rows(last)
        assert outcome == "revision_limit"
        assert reason.startswith("this is revision 3, and ")


def test_history_waits_while_a_budget_would_refuse_to_judge_it(store: Bench) -> None:
    store.spans(seen(root(1, **SPAN)))
    store.after(4)
    held = True
    reading = Renormalizer(store.db, store.worker.revise, store.clock, is_held=lambda: held)
    request = reading.request(since_ns=None, until_ns=None, dry_run=False)
    with acme():
        assert not reading.step()
        assert reading.find(request.id).done == 0.0
        held = False
        while reading.step():
            pass
    assert reading.find(request.id).report["traces_changed"] == 1
