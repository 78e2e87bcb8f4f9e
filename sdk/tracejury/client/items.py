"""All items of a list, asked for page after page while they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

from tracejury.client import tables
from tracejury.client.request import Request
from tracejury.rest import Page

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Item = TypeVar("Item", bound=BaseModel)


class Items(Generic[Item]):
    """The items of a list; each iteration, and each table, asks for them anew."""

    def __init__(
        self,
        first: Request[Page[Item]],
        ask: Callable[[Request[Page[Item]]], Page[Item]],
        model: type[Item],
    ) -> None:
        self._first = first
        self._ask = ask
        self._model = model

    def __iter__(self) -> Iterator[Item]:
        request: Request[Page[Item]] | None = self._first
        while request is not None:
            page = self._ask(request)
            yield from page.items
            request = _next(request, page)

    def to_arrow(self) -> pyarrow.Table:
        """Return all items as an Arrow table."""
        return tables.arrow_of(self._model, self)

    def to_df(self) -> pandas.DataFrame:
        """Return all items as a DataFrame of pandas."""
        return tables.pandas_of(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """Return all items as a DataFrame of polars."""
        return tables.polars_of(self.to_arrow())


class AsyncItems(Generic[Item]):
    """The items of a list; each iteration, and each table, asks for them anew."""

    def __init__(
        self,
        first: Request[Page[Item]],
        ask: Callable[[Request[Page[Item]]], Awaitable[Page[Item]]],
        model: type[Item],
    ) -> None:
        self._first = first
        self._ask = ask
        self._model = model

    async def __aiter__(self) -> AsyncIterator[Item]:
        request: Request[Page[Item]] | None = self._first
        while request is not None:
            page = await self._ask(request)
            for item in page.items:
                yield item
            request = _next(request, page)

    async def to_arrow(self) -> pyarrow.Table:
        """Return all items as an Arrow table."""
        return tables.arrow_of(self._model, [item async for item in self])

    async def to_df(self) -> pandas.DataFrame:
        """Return all items as a DataFrame of pandas."""
        return tables.pandas_of(await self.to_arrow())

    async def to_polars(self) -> polars.DataFrame:
        """Return all items as a DataFrame of polars."""
        return tables.polars_of(await self.to_arrow())


def _next(request: Request[Page[Item]], page: Page[Item]) -> Request[Page[Item]] | None:
    """Return the request for the page after `page`, None after the last one."""
    if page.next_cursor is None:
        return None
    return replace(request, params={**request.params, "cursor": page.next_cursor})
