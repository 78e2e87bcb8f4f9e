"""Sessions: the list, and one with its traces."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest import Page, SessionDetail, SessionExplanation, SessionSummary
from tracejury.view import rfc3339
from tracejury_collector.api.access import CallerIs, check_where, own_project
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.cursors import decode_cursor, encode_cursor
from tracejury_collector.api.dependencies import MAX_PAGE, Context, ListQuery, problems
from tracejury_collector.api.details import decision, label, result, with_times
from tracejury_collector.api.paths import LastSegmentRoute, anything
from tracejury_collector.api.times import parse_time
from tracejury_collector.api.traces import trace_summary
from tracejury_collector.api.written import written
from tracejury_collector.errors import NotFound
from tracejury_collector.keys.ring import Caller
from tracejury_collector.session_ids import session_target
from tracejury_collector.store import about, sessions
from tracejury_collector.store.labels import labels_of_session
from tracejury_collector.store.owning import own_results, own_sessions
from tracejury_collector.store.statements import Row

router = APIRouter(tags=["sessions"])
explaining = APIRouter(tags=["sessions"], route_class=LastSegmentRoute)
"""Before `router`, whose paths take anything."""

Project = Annotated[
    str | None, Query(description="its project; without it, the one that was active last")
]

SessionId = Annotated[
    str, Path(description="session or conversation id, percent-encoded", examples=["chat-17"])
]


class SessionQuery(ListQuery):
    """Which sessions to list."""

    where: str | None = Field(
        default=None,
        max_length=10_000,
        description="a condition over the columns of the view `sessions`",
        examples=["traces_with_error > 0 AND cost_usd > 0.1"],
    )
    project: str | None = Field(default=None, description="sessions of this project")
    service: str | None = Field(default=None, description="with a trace of this service.name")
    user_id: str | None = Field(default=None, description="with a trace of this user")
    since: str | None = Field(
        default=None,
        description="with a trace started then or later: RFC 3339, or 90m, 6h, 2d ago",
    )
    until: str | None = Field(
        default=None, description="with a trace started before: RFC 3339, or 90m ago"
    )


class OneSessionQuery(BaseModel):
    """Which session of an id, and how much of it."""

    model_config = ConfigDict(extra="forbid")

    project: str | None = Field(
        default=None, description="its project; without it, the one that was active last"
    )
    limit: int = Field(default=200, ge=1, le=MAX_PAGE, description="most traces to show")


@router.get("/api/sessions", responses=problems(400, 422))
@written
def list_sessions(
    context: Context, caller: CallerIs, query: Annotated[SessionQuery, Query()]
) -> Page[SessionSummary]:
    """List sessions, latest activity first, with their totals."""
    check_where(caller, query.where)
    project = own_project(caller, query.project)
    found = sessions.list_sessions(context.db, _filter(query, project, time.time_ns()), query.where)
    more = len(found) > query.limit
    shown = _own(context, caller, [row for _, row in found[: query.limit]])
    items = [SessionSummary(**_shown(row)) for row in shown]
    if not more:
        return Page(items=items)
    place = found[query.limit - 1][0]
    cursor = encode_cursor(place.ceiling_ns, place.active_ns, place.newest_seq)
    return Page(items=items, next_cursor=cursor)


@explaining.get(f"/api/sessions/{anything('session_id')}/explain", responses=problems(404, 422))
@written
def explain_session(
    context: Context, caller: CallerIs, session_id: SessionId, project: Project = None
) -> SessionExplanation:
    """Say when and why the session was finished, and why each rule judged it or did not."""
    project = own_project(caller, project)
    if caller.project is not None and not _own(context, caller, [{"session_id": session_id}]):
        raise _unknown(session_id, None, [])
    story = context.stories.of_session(session_id, project)
    if caller.project is not None:
        story["other_projects"] = []
    return SessionExplanation.model_validate(with_times(story))


@router.get(f"/api/sessions/{anything('session_id')}", responses=problems(404, 422))
@written
def get_session(
    context: Context,
    caller: CallerIs,
    session_id: SessionId,
    query: Annotated[OneSessionQuery, Query()],
) -> SessionDetail:
    """Return the totals of one session, and its traces in order of start."""
    asked = own_project(caller, query.project)
    found = _own(context, caller, sessions.find_session(context.db, session_id))
    rows = [row for row in found if asked in (None, row["project"])]
    if not rows:
        raise _unknown(session_id, query.project, [row["project"] for row in found])
    row = rows[0]
    project = row["project"]
    traces = sessions.traces_of_session(context.db, session_id, project, query.limit)
    totals = _shown(row)
    count = totals.pop("traces")
    target = about.Judged(target_kind="session", target_id=session_target(project, session_id))
    with context.db.read_as_one() as cursor:
        made = about.results_on(cursor, target)
        decisions = about.decisions_on(cursor, target)
        labels = labels_of_session(cursor, session_id, project)
    return SessionDetail(
        **totals,
        trace_count=count,
        traces=[trace_summary(trace) for trace in traces],
        truncated=count > len(traces),
        other_projects=[other["project"] for other in found if other["project"] != project],
        results=[result(row) for row in own_results(context.db, caller.project, made)],
        decisions=[decision(row) for row in decisions],
        labels=[label(row) for row in labels],
    )


def _own(context: ApiContext, caller: Caller, rows: list[Row]) -> list[Row]:
    """Return the sessions that the caller may see."""
    if caller.project is None:
        return rows
    own = own_sessions(context.db, caller.project, (row["session_id"] for row in rows))
    return [
        row
        for row in rows
        if row["session_id"] in own and row.get("project", caller.project) == caller.project
    ]


def _filter(query: SessionQuery, project: str | None, now_ns: int) -> sessions.SessionFilter:
    """Return the filter for one row more than the page holds."""
    ceiling_ns, before_ns, before_seq = (
        decode_cursor(query.cursor, (int, int, int)) if query.cursor else (None, None, None)
    )
    return sessions.SessionFilter(
        project=project,
        service=query.service,
        user_id=query.user_id,
        since_ns=parse_time(query.since, "since", now_ns) if query.since else None,
        until_ns=parse_time(query.until, "until", now_ns) if query.until else None,
        ceiling_ns=ceiling_ns,
        before_ns=before_ns,
        before_seq=before_seq,
        limit=query.limit + 1,
    )


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    made = dict(row)
    for name in ("start_time", "end_time"):
        made[name] = rfc3339(made.pop(f"{name}_ns") or 0)
    return made


def _unknown(session_id: str, project: str | None, projects: list[str]) -> NotFound:
    if projects:
        return NotFound(
            f"the project {project!r} has no session {session_id[:100]!r}; "
            f"it is in {', '.join(repr(name) for name in projects[:20])}"
        )
    return NotFound(
        f"no finished trace is of the session {session_id[:100]!r}; check the id "
        "(percent-encoded in a URL), and whether its traces are finished yet"
    )
