"""Runs: judging history on demand, looking at how far that is, and canceling it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.sse import EventSourceResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from tracejury.rest import Page, Run, RunEstimate
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.cursors import decode_cursor, encode_cursor
from tracejury_collector.api.dependencies import Context, ListQuery, problems
from tracejury_collector.api.runs_shown import estimate_document, run_document
from tracejury_collector.api.streams import Heart, Streams, event, mark, stream_of
from tracejury_collector.api.times import parse_time
from tracejury_collector.config import EvaluatorSpec
from tracejury_collector.runs.plan import RunRequest
from tracejury_collector.store.runs import RunFilter
from tracejury_collector.store.targets import TargetFilter

router = APIRouter(tags=["runs"])

MOST_TRACE_IDS = 10_000
MOST_EVALUATORS = 100

RunId = Annotated[str, Path(description="id of a run", examples=["run-6ab2c1d0-9f86d081"])]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ShadowBody(BaseModel):
    """An evaluator by name, and what might take its place."""

    model_config = ConfigDict(extra="forbid")

    evaluator: Name = Field(description="name of the evaluator in force")
    candidate: EvaluatorSpec = Field(description="type, config, criteria and timeout to try")


class RunBody(BaseModel):
    """What to judge, and what judges it: one of `rule`, `evaluators` and `shadow`."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [{"rule": "production", "since": "7d", "where": "has_error"}]
        },
    )

    rule: Name | None = Field(
        default=None, description="a rule: its condition, kinds, sample and evaluators"
    )
    evaluators: list[Name] = Field(
        default=[], max_length=MOST_EVALUATORS, description="evaluators in force, by name"
    )
    shadow: ShadowBody | None = Field(
        default=None, description="an evaluator and a candidate that is compared with it"
    )
    where: str | None = Field(
        default=None,
        max_length=10_000,
        description="a condition over the view `traces`, or `sessions` where the rule judges these",
    )
    trace_ids: list[Name] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_TRACE_IDS,
        description="these traces alone, in place of where, since and until",
    )
    since: str | None = Field(
        default=None,
        description="traces started then or later (of sessions, any): RFC 3339, or 90m, 6h, 2d ago",
    )
    until: str | None = Field(
        default=None, description="traces started before: RFC 3339, or 90m ago"
    )
    rate: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="share of the traces, in place of all that the rule says about sampling",
    )
    rejudge: bool = Field(
        default=False, description="also judge again what the same version has judged"
    )
    dry_run: bool = Field(
        default=False, description="only say how many judgements it would take, and what they cost"
    )


class RunQuery(ListQuery):
    """Which runs to list."""

    state: Literal["running", "done", "canceled", "failed"] | None = Field(
        default=None, description="only those in this state"
    )
    rule: str | None = Field(default=None, description="only of this rule")


@router.post(
    "/api/runs",
    status_code=202,
    response_model=Run,
    responses=problems(400, 404, 409, 413, 422)
    | {200: {"model": RunEstimate, "description": "a dry run: what it would do, and the cost"}},
)
def start_run(context: Context, body: RunBody) -> Response:
    """Judge finished traces of the past by a rule, by evaluators, or by a candidate as well.

    What the same version of an evaluator has judged already is left out. Live traffic goes first.
    """
    request = _request(body)
    if body.dry_run:
        plan, found = context.runs.estimate(request)
        return _answer(estimate_document(plan, found), 200)
    run = run_document(context.runs.start(request))
    return _answer(run, 202, {"location": f"/api/runs/{run.run_id}"})


@router.get("/api/runs", responses=problems(400, 422))
def list_runs(context: Context, query: Annotated[RunQuery, Query()]) -> Page[Run]:
    """List runs, newest first."""
    found = context.runs.list(_filter(query))
    items = [run_document(progress) for progress in found[: query.limit]]
    if len(found) <= query.limit:
        return Page(items=items)
    last = found[query.limit - 1].run
    return Page(items=items, next_cursor=encode_cursor(last.created_at_ns, last.run_id))


@router.get("/api/runs/{run_id}", responses=problems(404))
def get_run(context: Context, run_id: RunId) -> Run:
    """Return how far a run is and what came of it; of a shadow run, the comparison."""
    progress = context.runs.show(run_id)
    return run_document(progress, context.runs.comparison(progress))


@router.delete("/api/runs/{run_id}", responses=problems(404))
def cancel_run(context: Context, run_id: RunId) -> Run:
    """End a run: what it has judged stays, what waits is dropped.

    A run that has ended stays as it is.
    """
    return run_document(context.runs.cancel(run_id))


@router.get(
    "/api/runs/{run_id}/events",
    response_class=StreamingResponse,
    responses=problems(404)
    | stream_of(Run, ("progress", "end"), "the run at each change, and at last as it ended"),
)
async def run_events(request: Request, context: Context, run_id: RunId) -> EventSourceResponse:
    """Tell of a run whenever it goes on, until it has ended."""
    first = run_document(await run_in_threadpool(context.runs.show, run_id))
    streams: Streams = request.app.state.streams
    return streams.answer(_events(context, streams, first), f"GET /api/runs/{run_id}")


async def _events(context: ApiContext, streams: Streams, run: Run) -> AsyncGenerator[bytes, None]:
    """Yield the run at each change, and a comment now and then while it stands still."""
    yield event("progress", run)
    heart = Heart()
    while run.state == "running":
        if not await streams.pause(0.0):
            return
        now = run_document(await streams.look(partial(context.runs.show, run.run_id)))
        if now != run:
            run = now
            yield event("progress", run)
            heart.beat()
        elif heart.is_due:
            yield mark()
            heart.beat()
    yield event("end", run)


def _answer(
    document: BaseModel, status: int, headers: dict[str, str] | None = None
) -> JSONResponse:
    return JSONResponse(document.model_dump(mode="json"), status_code=status, headers=headers)


def _request(body: RunBody) -> RunRequest:
    now_ns = time.time_ns()
    targets = TargetFilter(
        where=body.where or "true",
        trace_ids=None if body.trace_ids is None else tuple(body.trace_ids),
        since_ns=parse_time(body.since, "since", now_ns) if body.since else None,
        until_ns=parse_time(body.until, "until", now_ns) if body.until else None,
    )
    return RunRequest(
        targets=targets,
        rule=body.rule,
        evaluators=tuple(body.evaluators),
        shadow=(body.shadow.evaluator, body.shadow.candidate) if body.shadow else None,
        rate=body.rate,
        rejudge=body.rejudge,
    )


def _filter(query: RunQuery) -> RunFilter:
    """Return the filter for one run more than the page holds."""
    before = decode_cursor(query.cursor, (int, str)) if query.cursor else (None, None)
    return RunFilter(
        state=query.state,
        rule=query.rule,
        before_ns=before[0],
        before_run=before[1],
        limit=query.limit + 1,
    )
