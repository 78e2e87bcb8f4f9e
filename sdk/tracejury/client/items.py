"""All items of a list, asked for page after page while they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from tracejury.client.request import Request
from tracejury.rest import Page

Item = TypeVar("Item", bound=BaseModel)


class Items(Generic[Item]):
    """The items of a list; each iteration asks for them anew."""

    def __init__(
        self, first: Request[Page[Item]], ask: Callable[[Request[Page[Item]]], Page[Item]]
    ) -> None:
        self._first = first
        self._ask = ask

    def __iter__(self) -> Iterator[Item]:
        request: Request[Page[Item]] | None = self._first
        while request is not None:
            page = self._ask(request)
            yield from page.items
            request = _next(request, page)


class AsyncItems(Generic[Item]):
    """The items of a list; each iteration asks for them anew."""

    def __init__(
        self,
        first: Request[Page[Item]],
        ask: Callable[[Request[Page[Item]]], Awaitable[Page[Item]]],
    ) -> None:
        self._first = first
        self._ask = ask

    async def __aiter__(self) -> AsyncIterator[Item]:
        request: Request[Page[Item]] | None = self._first
        while request is not None:
            page = await self._ask(request)
            for item in page.items:
                yield item
            request = _next(request, page)


def _next(request: Request[Page[Item]], page: Page[Item]) -> Request[Page[Item]] | None:
    """Return the request for the page after `page`, None after the last one."""
    if page.next_cursor is None:
        return None
    return replace(request, params={**request.params, "cursor": page.next_cursor})
