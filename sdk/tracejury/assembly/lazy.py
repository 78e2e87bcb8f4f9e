"""Values that are worked out when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801
    """Like `functools.cached_property`, without the lock that Python 3.11 takes for it."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> lazy[T]: ...

    @overload
    def __get__(self, owner: object, kind: type[Any]) -> T: ...

    def __get__(self, owner: Any, kind: type[Any]) -> T | lazy[T]:
        if owner is None:
            return self
        found = owner.__dict__[self._name] = self._find(owner)
        return found
