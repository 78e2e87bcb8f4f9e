"""Traces: the list, one trace rebuilt, and why it was judged or not."""

from __future__ import annotations

import time
from typing import Annotated, Any

import duckdb
from fastapi import APIRouter, Path, Query
from pydantic import Field

from tracejury.rest import Explanation, Page, TraceDetail, TraceSummary
from tracejury.view import rfc3339
from tracejury_collector.api.access import CallerIs, check_where, own_project
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.cursors import decode_cursor, encode_cursor
from tracejury_collector.api.dependencies import Context, ListQuery, problems
from tracejury_collector.api.details import explanation, find_detail, trace_detail
from tracejury_collector.api.times import parse_time
from tracejury_collector.api.written import written
from tracejury_collector.errors import NotFound
from tracejury_collector.keys.ring import Caller
from tracejury_collector.store import about, trace_pages
from tracejury_collector.store.loading import SeqRange
from tracejury_collector.store.owning import own_ranges, own_rows

router = APIRouter(tags=["traces"])

TraceId = Annotated[
    str, Path(description="trace id, 32 hex digits", examples=["4bf92f3577b34da6a3ce929d0e0e4736"])
]


class TraceQuery(ListQuery):
    """Which traces to list."""

    where: str | None = Field(
        default=None,
        max_length=10_000,
        description="a condition over the columns of the view `traces`",
        examples=["has_error AND tool_calls > 3"],
    )
    project: str | None = Field(default=None, description="of this project")
    service: str | None = Field(default=None, description="service.name of the agent")
    session_id: str | None = Field(default=None, description="session or conversation id")
    since: str | None = Field(
        default=None, description="started then or later: RFC 3339, or 90m, 6h, 2d ago"
    )
    until: str | None = Field(default=None, description="started before: RFC 3339, or 90m ago")


@router.get("/api/traces", responses=problems(400, 422))
@written
def list_traces(
    context: Context, caller: CallerIs, query: Annotated[TraceQuery, Query()]
) -> Page[TraceSummary]:
    """List traces, newest first: current revisions, and traces that are still open."""
    check_where(caller, query.where)
    project = own_project(caller, query.project)
    rows = trace_pages.list_traces(context.db, _filter(query, project, time.time_ns()), query.where)
    more = len(rows) > query.limit
    shown = rows[: query.limit]
    items = [trace_summary(row) for row in own_rows(context.db, caller.project, shown)]
    cursor = encode_cursor(rows[query.limit - 1]["first_seq"]) if more else None
    return Page(items=items, next_cursor=cursor)


def _filter(query: TraceQuery, project: str | None, now_ns: int) -> trace_pages.TraceFilter:
    """Return the filter for one row more than the page holds."""
    return trace_pages.TraceFilter(
        project=project,
        service=query.service,
        session_id=query.session_id,
        since_ns=parse_time(query.since, "since", now_ns) if query.since else None,
        until_ns=parse_time(query.until, "until", now_ns) if query.until else None,
        before_seq=decode_cursor(query.cursor, (int,))[0] if query.cursor else None,
        limit=query.limit + 1,
    )


def trace_summary(row: dict[str, Any]) -> TraceSummary:
    """Return a row of `show_traces` as an item of a list."""
    hidden = ("start_time_ns", "first_seq", "last_seq", "spans_deleted_at_ns")
    shown = {key: value for key, value in row.items() if key not in hidden}
    return TraceSummary(
        **shown,
        start_time=rfc3339(row["start_time_ns"] or 0),
        spans_deleted_at=rfc3339(row["spans_deleted_at_ns"] or 0),
    )


@router.get("/api/traces/{trace_id}", responses=problems(404))
@written
def get_trace(context: Context, caller: CallerIs, trace_id: TraceId) -> TraceDetail:
    """Return one trace, rebuilt from its spans, with its results and decisions.

    A trace that is still open is rebuilt from what has arrived.
    """
    with context.db.read_as_one() as cursor:
        found = find_detail(cursor, _known(context, cursor, caller, trace_id))
    return trace_detail(found)


@router.get("/api/traces/{trace_id}/explain", responses=problems(404))
@written
def explain_trace(context: Context, caller: CallerIs, trace_id: TraceId) -> Explanation:
    """Say when and why the trace was finished, and why each rule judged it or did not."""
    if caller.project is not None:
        with context.db.read_as_one() as cursor:
            _known(context, cursor, caller, trace_id)
    return explanation(context.stories.of_trace(trace_id.lower()))


def _known(
    context: ApiContext, cursor: duckdb.DuckDBPyConnection, caller: Caller, trace_id: str
) -> about.Extent:
    extent = about.find_trace(cursor, trace_id.lower())
    if extent is not None and caller.project is not None:
        place = SeqRange(
            trace_id=extent.trace_id, first_seq=extent.first_seq, last_seq=extent.last_seq
        )
        if not own_ranges(context.db, caller.project, [place]):
            extent = None
    if extent is None:
        raise NotFound(
            f"no trace has the id {trace_id[:100]!r}; "
            "check the id, or whether its spans have been exported yet"
        )
    return extent
