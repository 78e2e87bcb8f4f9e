"""One definition of each call, for the client that waits and for the one that is awaited.

A method that returns a `Request` becomes, under `@call`, a method that answers it: `Client` gets
the result, `AsyncClient` a coroutine of it. Types and parameters are those of the definition.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from pydantic import BaseModel

from tracejury.client.connection import AsyncConnection, Connection
from tracejury.client.items import AsyncItems, Items
from tracejury.client.request import Request
from tracejury.client.stream import Stream, follow, follow_async
from tracejury.rest import Page

P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item", bound=BaseModel)


class Call(Generic[P, T]):
    """A call with one answer."""

    def __init__(self, make: Callable[Concatenate[Any, P], Request[T]]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Connection, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: AsyncConnection, owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Connection | AsyncConnection | None, owner: type) -> Any:
        """Return the call as a method of a client."""
        if client is None:
            return self

        @functools.wraps(self.make.__get__(client))
        def method(*args: P.args, **kwargs: P.kwargs) -> T | Coroutine[Any, Any, T]:
            return client.ask(self.make(client, *args, **kwargs))

        return method


class Every(Generic[P, Item]):
    """All items of a list, page after page."""

    def __init__(self, page: Call[P, Page[Item]], item: type[Item]) -> None:
        self._page = page
        self._item = item
        self.__doc__ = page.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Connection, owner: type) -> Callable[P, Items[Item]]: ...
    @overload
    def __get__(self, client: AsyncConnection, owner: type) -> Callable[P, AsyncItems[Item]]: ...
    def __get__(self, client: Connection | AsyncConnection | None, owner: type) -> Any:
        """Return the list as a method of a client."""
        if client is None:
            return self
        make = self._page.make

        @functools.wraps(make.__get__(client))
        def method(*args: P.args, **kwargs: P.kwargs) -> Items[Item] | AsyncItems[Item]:
            kwargs.setdefault("limit", PAGE_ITEMS)
            request = make(client, *args, **kwargs)
            if isinstance(client, Connection):
                return Items(request, client.ask, self._item)
            return AsyncItems(request, client.ask, self._item)

        return method


class Follow(Generic[P, Item]):
    """Documents that the service sends as they come about."""

    def __init__(self, make: Callable[Concatenate[Any, P], Stream[Item]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Connection, owner: type) -> Callable[P, Iterator[Item]]: ...
    @overload
    def __get__(self, client: AsyncConnection, owner: type) -> Callable[P, AsyncIterator[Item]]: ...
    def __get__(self, client: Connection | AsyncConnection | None, owner: type) -> Any:
        """Return the stream as a method of a client."""
        if client is None:
            return self

        @functools.wraps(self._make.__get__(client))
        def method(*args: P.args, **kwargs: P.kwargs) -> Iterator[Item] | AsyncIterator[Item]:
            stream = self._make(client, *args, **kwargs)
            if isinstance(client, Connection):
                return follow(client, stream)
            return follow_async(client, stream)

        return method


PAGE_ITEMS = 500
"""Items asked for at a time where a list is read to its end."""


def call(make: Callable[Concatenate[Any, P], Request[T]]) -> Call[P, T]:
    """Make a call of a method that returns a request."""
    return Call(make)


def every(page: Call[P, Page[Item]], item: type[Item]) -> Every[P, Item]:
    """Make a list of all items of a call for a page; `limit` is then the size of a page."""
    return Every(page, item)


def streamed(make: Callable[Concatenate[Any, P], Stream[Item]]) -> Follow[P, Item]:
    """Make an iteration of a method that returns a stream."""
    return Follow(make)
