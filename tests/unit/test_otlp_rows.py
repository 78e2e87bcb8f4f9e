"""Rows become tables; what Arrow cannot hold is rejected alone."""

from __future__ import annotations

import pytest

from tests.helpers.fake_store import rows_of
from tracejury_collector.receive.columns import LogRows, SpanRows
from tracejury_collector.receive.records import RawLog, RawSpan, Resource, Scope
from tracejury_collector.store.schema import LOG_SCHEMA, SPAN_SCHEMA


def raw_span(span_id: str, *, flags: int = 0, name: str = "n", marker: object = None) -> RawSpan:
    """Return a span that starts at 1 and ends at 3."""
    attributes = {"tracejury.trace.complete": marker}
    return RawSpan(
        "t", span_id, "", "", flags, name, 1, 1, 3, attributes, 0, [], 0, [], 0, 2, "no"  # type: ignore[arg-type]
    )  # fmt: skip


def test_no_rows_make_an_empty_table_of_the_schema() -> None:
    assert SpanRows(1000).table().schema == SPAN_SCHEMA
    assert LogRows(1000).table().schema == LOG_SCHEMA
    assert LogRows(1000).table().num_rows == 0


def test_a_row_that_arrow_cannot_hold_is_rejected_alone() -> None:
    rows, scope = SpanRows(10_000), Scope(Resource({}))
    for span in (raw_span("1"), raw_span("2", flags=2**40), raw_span("3")):
        rows.add(scope, span)
    assert [row["span_id"] for row in rows_of(rows.table())] == ["1", "3"]
    assert rows.rejected == {"a value cannot be stored": 1}


@pytest.mark.parametrize("unfit", [(), (1,), (0, 2)])
def test_what_arrow_cannot_hold_costs_its_own_request_a_row(unfit: tuple[int, ...]) -> None:
    requests, scope = [SpanRows(10_000) for _ in range(3)], Scope(Resource({}))
    for number, rows in enumerate(requests):
        rows.add(scope, raw_span(f"{number}a"))
        rows.add(scope, raw_span(f"{number}b", flags=2**40 if number in unfit else 0))
    tables = requests[0].tables(requests[1:])
    found = [[row["span_id"] for row in rows_of(table)] for table in tables]
    assert found == [[f"{n}a"] if n in unfit else [f"{n}a", f"{n}b"] for n in range(3)]
    assert [rows.rejected.total() for rows in requests] == [int(n in unfit) for n in range(3)]


@pytest.mark.parametrize(
    ("marker", "is_marker"), [(True, True), (False, False), ("true", False), (1, False)]
)
def test_only_true_marks_a_trace_as_complete(marker: object, is_marker: bool) -> None:
    rows = SpanRows(10_000)
    rows.add(Scope(Resource({})), raw_span("1", marker=marker))
    assert rows_of(rows.table())[0]["marker"] is is_marker


def test_project_and_service_come_from_the_resource() -> None:
    rows = SpanRows(10_000)
    named = Resource({"tracejury.project": "p", "service.name": "s"})
    for resource in (named, Resource({"tracejury.project": 5, "service.name": ["s"]})):
        rows.add(Scope(resource), raw_span("1"))
    found = [(row["project"], row["service_name"]) for row in rows_of(rows.table())]
    assert found == [("p", "s"), ("default", "")]


def test_the_name_of_an_event_may_come_from_its_old_attribute() -> None:
    rows = LogRows(10_000)
    for name in ("new", ""):
        log = RawLog("t", "", name, 1, 2, 9, "INFO", None, {"event.name": "old"}, 0, 0)
        rows.add(Scope(Resource({})), log)
    assert [row["event_name"] for row in rows_of(rows.table())] == ["new", "old"]


def test_the_same_span_of_another_resource_or_scope_has_another_hash() -> None:
    rows = SpanRows(10_000)
    scopes = [
        Scope(Resource({})),
        Scope(Resource({})),
        Scope(Resource({"a": 1})),
        Scope(Resource({}, schema_url="u")),
        Scope(Resource({}), "name"),
        Scope(Resource({}), schema_url="u"),
    ]
    for scope in scopes:
        rows.add(scope, raw_span("1"))
    hashes = [(r["content_hash_high"], r["content_hash_low"]) for r in rows_of(rows.table())]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 5
