"""Live traces and live results, as server-sent events."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from tracejury.rest import Result, TraceSummary
from tracejury_collector.api.access import CallerIs, check_where, own_project
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.api.details import result
from tracejury_collector.api.problems import problem_of
from tracejury_collector.api.streams import Heart, Streams, event, mark, stream_of
from tracejury_collector.api.traces import trace_summary
from tracejury_collector.errors import MalformedRequest, RequestError, Unavailable
from tracejury_collector.store.events import (
    News,
    Place,
    ResultEvents,
    TraceEvents,
    newest_results,
    newest_traces,
    next_results,
    next_traces,
)
from tracejury_collector.store.owning import own_news, own_results, own_rows
from tracejury_collector.store.statements import Row

router = APIRouter()

log = logging.getLogger("tracejury.api")

_ID = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
LastEventId = Annotated[
    str | None,
    Header(
        max_length=100,
        description="the `id` of the last event seen: goes on behind it, where else only what "
        "comes from now on is told",
    ),
]


class TraceEventQuery(BaseModel):
    """Which traces to tell of; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid")

    where: str | None = Field(
        default=None,
        max_length=10_000,
        description="a condition over the columns of the view `traces`",
        examples=["has_error OR latency_ms > 10000"],
    )
    service: str | None = Field(default=None, description="service.name of the agent")
    project: str | None = Field(default=None, description="only of this project")
    session_id: str | None = Field(
        default=None, description="session or conversation id; known when a trace is finished"
    )


class ResultEventQuery(BaseModel):
    """Which results to tell of; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid")

    project: str | None = Field(default=None, description="only of this project")
    evaluator: str | None = Field(default=None, description="only this evaluator's name")
    rule: str | None = Field(default=None, description="only this rule's name")
    outcome: Literal["score", "skip", "failure"] | None = Field(
        default=None, description="judged, could not be judged, or crashed"
    )
    verdict: Literal["pass", "partial", "fail"] | None = Field(
        default=None, description="only scores with this verdict"
    )


@router.get(
    "/api/traces/events",
    tags=["traces"],
    response_class=StreamingResponse,
    responses=problems(400, 422)
    | stream_of(TraceSummary, ("trace",), "an item of `GET /api/traces`"),
)
async def trace_events(
    request: Request,
    context: Context,
    caller: CallerIs,
    query: Annotated[TraceEventQuery, Query()],
    last_event_id: LastEventId = None,
) -> EventSourceResponse:
    """Tell of each trace when its first spans arrive, and of each revision that is finished.

    An event holds the trace as it stands when it is told: `status` says whether it is finished.
    """
    check_where(caller, query.where)
    project = own_project(caller, query.project)
    asked = TraceEvents(**{**query.model_dump(), "project": project})
    wanted = await run_in_threadpool(asked.checked)
    newest = await run_in_threadpool(newest_traces, context.db)
    follow = _Follow(
        streams=request.app.state.streams,
        look=lambda place: own_news(
            context.db, caller.project, own_rows, next_traces(context.db, place, wanted)
        ),
        told=lambda place, row: event("trace", trace_summary(row), _name(place)),
    )
    return follow.answer(_place(last_event_id, newest), "GET /api/traces")


@router.get(
    "/api/results/events",
    tags=["results"],
    response_class=StreamingResponse,
    responses=problems(400, 422) | stream_of(Result, ("result",), "an item of `GET /api/results`"),
)
async def result_events(
    request: Request,
    context: Context,
    caller: CallerIs,
    query: Annotated[ResultEventQuery, Query()],
    last_event_id: LastEventId = None,
) -> EventSourceResponse:
    """Tell of each result on a current revision once it is on disk."""
    project = own_project(caller, query.project)
    wanted = ResultEvents(**{**query.model_dump(), "project": project})
    newest = await run_in_threadpool(newest_results, context.db)
    follow = _Follow(
        streams=request.app.state.streams,
        look=lambda place: own_news(
            context.db, caller.project, own_results, next_results(context.db, place, wanted)
        ),
        told=lambda place, row: event("result", result(row), _name(place)),
    )
    return follow.answer(_place(last_event_id, newest), "GET /api/results")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Follow:
    """How one client is told of what is new: looked for, and written as events."""

    streams: Streams
    look: Callable[[Place], News]
    told: Callable[[Place, Row], bytes]

    def answer(self, place: Place, instead: str) -> EventSourceResponse:
        """Return what comes after a place as an answer.

        Raises: Unavailable where too many follow already.
        """
        return self.streams.answer(self._events(place), instead)

    async def _events(self, place: Place) -> AsyncGenerator[bytes, None]:
        heart = Heart()
        yield mark(_name(place))
        while True:
            started_s, news = time.monotonic(), None
            try:
                news = await self.streams.look(partial(self.look, place))
            except RequestError as error:
                yield event("problem", problem_of(error))
                return
            except Unavailable as error:
                log.info("events wait: %s", error)
            for at, row in news.rows if news else ():
                yield self.told(at, row)
                heart.beat()
            place = news.place if news else place
            if heart.is_due:
                yield mark(_name(place))
                heart.beat()
            if not (news and news.more) and not await self.streams.pause(
                time.monotonic() - started_s
            ):
                return


def _name(place: Place) -> str:
    return ".".join(str(part) for part in place)


def _place(last_event_id: str | None, newest: Place) -> Place:
    """Return where to go on; what lies in the future, as after a restored backup, is now.

    Raises: MalformedRequest for an id that no event had.
    """
    if last_event_id is None:
        return newest
    parts = _ID.fullmatch(last_event_id.strip())
    place = tuple(int(part) for part in last_event_id.split(".")) if parts else ()
    if len(place) != len(newest):
        raise MalformedRequest(
            f"Last-Event-ID: {last_event_id!r} is no id of an event here; leave it out"
        )
    return tuple(min(pair) for pair in zip(place, newest, strict=True))
