"""Views as Parquet files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Generator
from typing import Annotated

from anyio import CancelScope, CapacityLimiter, WouldBlock, to_thread
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Message, Receive, Scope, Send

from tracejury_collector.api.access import CallerIs, check_where
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.api.times import parse_time
from tracejury_collector.errors import Unavailable
from tracejury_collector.store.parquet import Wanted, parquet

router = APIRouter(tags=["sql"])

MEDIA_TYPE = "application/vnd.apache.parquet"
EXPORTS_AT_ONCE = 2
STALLED_S = 60.0
"""A client that takes nothing for this long is left: others want to export too."""


class ExportQuery(BaseModel):
    """Which rows to export."""

    model_config = ConfigDict(extra="forbid")

    where: str | None = Field(
        default=None,
        max_length=10_000,
        description="a condition over the columns of the view",
        examples=["has_error AND tool_calls > 3"],
    )
    since: str | None = Field(
        default=None, description="from then on, by the time of a row: RFC 3339, or 6h, 2d ago"
    )
    until: str | None = Field(default=None, description="before then: RFC 3339, or 90m ago")


@router.get(
    "/api/export/{view}.parquet",
    response_class=StreamingResponse,
    responses=problems(400, 404, 422)
    | {
        200: {
            "description": "the file; it is whole when the answer ends as it should",
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def export(
    request: Request,
    context: Context,
    caller: CallerIs,
    view: Annotated[str, Path(max_length=100, description="a view", examples=["traces"])],
    query: Annotated[ExportQuery, Query()],
) -> StreamingResponse:
    """Stream the rows of a view as they are at this moment, as a Parquet file."""
    check_where(caller, query.where)
    limiter: CapacityLimiter = request.app.state.export_lane
    now_ns = time.time_ns()
    wanted = Wanted(
        view=view,
        where=query.where,
        own=caller.project,
        since_ns=parse_time(query.since, "since", now_ns) if query.since else None,
        until_ns=parse_time(query.until, "until", now_ns) if query.until else None,
    )
    place = _Place(limiter)
    pieces = parquet(context.db, wanted)
    try:
        first = await to_thread.run_sync(next, pieces)
    except BaseException:
        place.leave()
        raise
    return _Export(first, pieces, place, filename=f"{view}.parquet")


class _Place:
    """One of the few exports that may run, until it leaves.

    Raises: Unavailable where there is none.
    """

    def __init__(self, limiter: CapacityLimiter) -> None:
        self._limiter = limiter
        try:
            limiter.acquire_on_behalf_of_nowait(self)
        except WouldBlock as error:
            raise Unavailable(f"{EXPORTS_AT_ONCE} exports are running; try again soon") from error

    def leave(self) -> None:
        """Let another one in."""
        self._limiter.release_on_behalf_of(self)


class _Export(StreamingResponse):
    """Sends the pieces of a file; leaves a client that takes nothing."""

    def __init__(
        self, first: bytes, pieces: Generator[bytes], place: _Place, *, filename: str
    ) -> None:
        headers = {"content-disposition": f'attachment; filename="{filename}"'}
        super().__init__(_body(first, pieces), media_type=MEDIA_TYPE, headers=headers)
        self._pieces = pieces
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def bounded(message: Message) -> None:
            async with asyncio.timeout(STALLED_S):
                await send(message)

        try:
            await super().__call__(scope, receive, bounded)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._pieces.close)
            self._place.leave()


async def _body(first: bytes, pieces: Generator[bytes]) -> AsyncIterator[bytes]:
    yield first
    while (piece := await to_thread.run_sync(next, pieces, None)) is not None:
        yield piece
