"""Server-sent events: documents as they come about, over a connection that may break."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import httpx
from httpx_sse import EventSource, ServerSentEvent
from pydantic import BaseModel

from tracejury.client.answers import error_of, reaching, refusal
from tracejury.client.connection import AsyncConnection, Connection
from tracejury.client.request import Params
from tracejury.errors import ApiError, UnreachableError
from tracejury.rest import Problem

Item = TypeVar("Item", bound=BaseModel)
_PAUSE_S = 0.5
_QUIET_S = 60.0
"""A stream that says nothing for this long, not even that nothing is new, is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Generic[Item]):
    """A stream of events that hold documents.

    `is_last` says after which one it ends. A service that is away, as in a restart, is waited for
    `patience_s` seconds; then the error is raised.
    """

    path: str
    model: type[Item]
    params: Params = field(default_factory=dict)
    is_last: Callable[[Item], bool] = lambda _: False
    patience_s: float = 30.0


class _Course(Generic[Item]):
    """Where the reading of a stream stands."""

    def __init__(self, stream: Stream[Item]) -> None:
        self._stream = stream
        self._last_id = ""
        self._give_up_s = time.monotonic() + stream.patience_s

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Return the request for what comes after the last event read."""
        headers = {"accept": "text/event-stream", "cache-control": "no-store"}
        if self._last_id:
            headers["last-event-id"] = self._last_id
        params = {key: value for key, value in self._stream.params.items() if value is not None}
        timeout = httpx.Timeout(http.timeout.connect, read=_QUIET_S)
        return http.build_request(
            "GET", self._stream.path, params=params, headers=headers, timeout=timeout
        )

    def take(self, event: ServerSentEvent) -> Item | None:
        """Return the document in an event, None where it has none.

        Raises: ApiError for a problem, which is the last thing that is said.
        """
        self._last_id = event.id or self._last_id
        self._give_up_s = time.monotonic() + self._stream.patience_s
        if event.event == "problem":
            raise error_of(Problem.model_validate_json(event.data))
        return self._stream.model.model_validate_json(event.data) if event.data else None

    def is_over(self, error: UnreachableError | ApiError) -> bool:
        """Say whether an error is the end, for nothing gets better by waiting."""
        is_refused = isinstance(error, ApiError) and error.status < 500
        return is_refused or time.monotonic() > self._give_up_s


def follow(client: Connection, stream: Stream[Item]) -> Iterator[Item]:
    """Yield the documents of a stream until its last one."""
    course = _Course(stream)
    while True:
        try:
            with contextlib.closing(_events(client, course)) as events:
                for event in events:
                    item = course.take(event)
                    if item is not None:
                        yield item
                        if stream.is_last(item):
                            return
        except (UnreachableError, ApiError) as error:
            if course.is_over(error):
                raise
        time.sleep(_PAUSE_S)


async def follow_async(client: AsyncConnection, stream: Stream[Item]) -> AsyncIterator[Item]:
    """Yield the documents of a stream until its last one."""
    course = _Course(stream)
    while True:
        try:
            async with contextlib.aclosing(_events_async(client, course)) as events:
                async for event in events:
                    item = course.take(event)
                    if item is not None:
                        yield item
                        if stream.is_last(item):
                            return
        except (UnreachableError, ApiError) as error:
            if course.is_over(error):
                raise
        await asyncio.sleep(_PAUSE_S)


def _events(client: Connection, course: _Course[Item]) -> Generator[ServerSentEvent, None, None]:
    with reaching(client.url):
        response = client.http.send(course.request(client.http), stream=True)
        with contextlib.closing(response):
            if not response.is_success:
                response.read()
                raise refusal(response)
            yield from EventSource(response).iter_sse()


async def _events_async(
    client: AsyncConnection, course: _Course[Item]
) -> AsyncGenerator[ServerSentEvent, None]:
    with reaching(client.url):
        response = await client.http.send(course.request(client.http), stream=True)
        async with contextlib.aclosing(response):
            if not response.is_success:
                await response.aread()
                raise refusal(response)
            async for event in EventSource(response).aiter_sse():
                yield event
