"""Server-sent events: how many follow at a time, when they are looked for, who is left behind."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeVar

import anyio
import orjson
from anyio import CapacityLimiter, to_thread
from fastapi.sse import EventSourceResponse, format_sse_event
from pydantic import BaseModel
from starlette.types import Message, Receive, Scope, Send

from tracejury_collector.errors import Unavailable

log = logging.getLogger("tracejury.api")

MOST_STREAMS = 32
BEAT_S = 15.0
"""A stream says at least this often that it lives."""

_LOOK_S = 0.5
_SHARE = 10
"""A stream pauses this many times as long as it has looked, so that many leave time to others."""

PATIENCE_S = 30.0
"""A client that takes nothing for so long is left behind."""

_RETRY_MS = 1000
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
T = TypeVar("T")


class Streams:
    """The event streams of one service; `close` ends them all."""

    def __init__(self) -> None:
        self._open: set[object] = set()
        self._closing = asyncio.Event()
        self._lane = CapacityLimiter(1)

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """End all streams; clients come again and go on where they were."""
        self._closing.set()

    def answer(self, events: AsyncGenerator[bytes, None], instead: str) -> EventSourceResponse:
        """Return the events as an answer.

        Raises: Unavailable where too many follow already; `instead` says what else to ask.
        """
        if len(self) >= MOST_STREAMS:
            raise Unavailable(f"{MOST_STREAMS} others follow events; ask {instead} instead")
        place = object()
        self._open.add(place)
        return _Stream(events, lambda: self._open.discard(place))

    async def look(self, read: Callable[[], T]) -> T:
        """Return what `read` finds; streams look one after the other."""
        return await to_thread.run_sync(read, limiter=self._lane)

    async def pause(self, looked_s: float) -> bool:
        """Wait until the next look; say whether there is one."""
        try:
            await asyncio.wait_for(self._closing.wait(), max(_LOOK_S, _SHARE * looked_s))
        except TimeoutError:
            return True
        return False


class _Stream(EventSourceResponse):
    """An answer that ends when its client takes nothing any more."""

    def __init__(self, events: AsyncGenerator[bytes, None], ended: Callable[[], None]) -> None:
        super().__init__(events, headers=_HEADERS)
        self._events = events
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def patient(message: Message) -> None:
            with anyio.fail_after(PATIENCE_S):
                await send(message)

        try:
            await super().__call__(scope, receive, patient)
        except TimeoutError:
            log.warning("a client took no events for %g s and was left behind", PATIENCE_S)
        except Unavailable as error:
            log.info("a stream of events ends: %s", error)
        finally:
            self._ended()
            with anyio.CancelScope(shield=True):
                await self._events.aclose()


class Heart:
    """When a stream last said something."""

    def __init__(self) -> None:
        self._last_s = time.monotonic()

    def beat(self) -> None:
        """Note that something was said."""
        self._last_s = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Say whether it is time to say that there is nothing new."""
        return time.monotonic() - self._last_s > BEAT_S


def stream_of(
    document: type[BaseModel], names: Sequence[str], told: str
) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entry of an answer that is a stream of events with such documents."""
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": f"#/components/schemas/{document.__name__}"},
        "description": f"{told}; of a `problem`, why the stream ends",
    }
    fields = {
        "event": {"type": "string", "enum": [*names, "problem"], "description": "what is told"},
        "data": data,
        "id": {"type": "string", "description": "what to send as Last-Event-ID to go on here"},
        "retry": {"type": "integer", "description": "milliseconds to wait before coming again"},
    }
    schema = {"type": "object", "description": "one event", "properties": fields}
    example = f"event: {names[0]}\ndata: {{...}}\n\n"
    content = {"text/event-stream": {"schema": schema, "example": example}}
    return {200: {"description": told, "content": content}}


def event(name: str, document: BaseModel, place: str | None = None) -> bytes:
    """Return an event that holds a document, and where to go on behind it."""
    data = orjson.dumps(document.model_dump(mode="json")).decode()
    return format_sse_event(data_str=data, event=name, id=place)


def mark(place: str | None = None) -> bytes:
    """Return what clients take for a sign of life, and remember the place of."""
    return format_sse_event(comment="nothing new", id=place, retry=_RETRY_MS)
