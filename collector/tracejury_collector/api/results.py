"""Results: what evaluators found."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from tracejury.rest import Page, Result
from tracejury_collector.api.access import CallerIs, own_project
from tracejury_collector.api.cursors import decode_cursor, encode_cursor
from tracejury_collector.api.dependencies import Context, ListQuery, problems
from tracejury_collector.api.details import result
from tracejury_collector.api.times import parse_time
from tracejury_collector.api.written import written
from tracejury_collector.session_ids import is_session
from tracejury_collector.store import about, reads
from tracejury_collector.store.database import Database
from tracejury_collector.store.owning import own_results

router = APIRouter(tags=["results"])


class ResultQuery(ListQuery):
    """Which results to list."""

    trace_id: str | None = Field(default=None, description="only this trace")
    target_id: str | None = Field(
        default=None, description="only this trace, or this session: its project, a slash, its id"
    )
    project: str | None = Field(default=None, description="on traces and sessions of this project")
    evaluator: str | None = Field(default=None, description="only this evaluator's name")
    rule: str | None = Field(default=None, description="only this rule's name")
    outcome: Literal["score", "skip", "failure"] | None = Field(
        default=None, description="judged, could not be judged, or crashed"
    )
    verdict: Literal["pass", "partial", "fail"] | None = Field(
        default=None, description="only scores with this verdict"
    )
    since: str | None = Field(
        default=None, description="made then or later: RFC 3339, or 90m, 6h, 2d ago"
    )
    superseded: bool = Field(
        default=False, description="also those of revisions that are no longer current"
    )


@router.get("/api/results", responses=problems(400, 422))
@written
def list_results(
    context: Context, caller: CallerIs, query: Annotated[ResultQuery, Query()]
) -> Page[Result]:
    """List results on current revisions, newest first."""
    project = own_project(caller, query.project)
    wanted = _placed(context.db, _filter(query, project, time.time_ns()))
    rows = reads.list_results(context.db, wanted)
    more = len(rows) > query.limit
    shown = own_results(context.db, caller.project, rows[: query.limit])
    items = [result(row) for row in shown]
    last = rows[query.limit - 1] if more else None
    cursor = (
        encode_cursor(last["created_at_ns"], last["decision_id"], last["evaluator"])
        if last
        else None
    )
    return Page(items=items, next_cursor=cursor)


def _placed(db: Database, wanted: reads.ResultFilter) -> reads.ResultFilter:
    """Return the filter with the place of the trace that it asks for, where it is known."""
    trace_id = wanted.trace_id or wanted.target_id
    if trace_id is None:
        return wanted
    if wanted.trace_id is None and is_session(trace_id):
        return replace(wanted, target_kind="session")
    with db.read() as cursor:
        return replace(wanted, first_seq=about.place_of_trace(cursor, trace_id))


def _filter(query: ResultQuery, project: str | None, now_ns: int) -> reads.ResultFilter:
    """Return the filter for one row more than the page holds."""
    position = decode_cursor(query.cursor, (int, str, str)) if query.cursor else (None,) * 3
    return reads.ResultFilter(
        superseded=query.superseded,
        trace_id=query.trace_id.lower() if query.trace_id else None,
        target_id=query.target_id,
        project=project,
        evaluator=query.evaluator,
        rule=query.rule,
        outcome=query.outcome,
        verdict=query.verdict,
        since_ns=parse_time(query.since, "since", now_ns) if query.since else None,
        before_ns=position[0],
        before_decision=position[1],
        before_evaluator=position[2],
        limit=query.limit + 1,
    )
