"""What checking data by a JSON Schema may take.

References can double with every level, so that a schema of one kilobyte takes years. Steps are
counted instead of seconds: the same data and schema then always end alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jsonschema import ValidationError

MAX_STEPS = 200_000
CHARS_PER_STEP = 256
STEPS_PER_OBJECT = 50

Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Errors | None]


class TooManySteps(Exception):
    """The steps are used up; the message says what takes so many."""


class Steps:
    """What is left to spend; a step takes about five microseconds."""

    def __init__(self, number: int = MAX_STEPS) -> None:
        self._number = self._left = number

    def spend(self, number: int) -> None:
        """Count steps.

        Raises: TooManySteps where none are left.
        """
        self._left -= number
        if self._left < 0:
            raise TooManySteps(
                f"checking the data by its schema takes more than {self._number} steps"
            )


_steps: ContextVar[Steps | None] = ContextVar("steps", default=None)


@contextmanager
def spending(steps: Steps) -> Iterator[None]:
    """Count what keywords take from these steps."""
    token = _steps.set(steps)
    try:
        yield
    finally:
        _steps.reset(token)


def spend(number: int = 1) -> None:
    """Count steps where they are counted.

    Raises: TooManySteps where none are left.
    """
    steps = _steps.get()
    if steps is not None:
        steps.spend(number)


def counted(keyword: Keyword) -> Keyword:
    """The keyword, counting what it takes: its errors quote the data, however large that is."""

    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
        spend()
        for error in keyword(validator, value, instance, schema) or ():
            spend(len(error.message) // CHARS_PER_STEP)
            yield error

    return apply


def counted_values(keyword: Keyword) -> Keyword:
    """A keyword that compares data with values, counting the parts of these values."""

    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
        spend(parts(value))
        yield from keyword(validator, value, instance, schema) or ()

    return apply


def counted_descent(descend: Callable[..., Errors]) -> Callable[..., Errors]:
    """The step into a subschema, where `false` names the place and does not quote the data."""

    def apply(self: Any, instance: Any, schema: Any, path: Any = None, **where: Any) -> Errors:
        spend()
        if schema is not False:
            return descend(self, instance, schema, path=path, **where)
        return iter((_nothing_allowed(instance, path),))

    return apply


def _nothing_allowed(instance: Any, path: Any) -> ValidationError:
    return ValidationError(
        "the schema is false here: nothing is allowed",
        path=() if path is None else (path,),
        validator=None,  # type: ignore[arg-type]
        validator_value=None,
        instance=instance,
        schema=False,
    )


def parts(value: Any) -> int:
    """How many values there are in a value, itself included."""
    return sum(1 for _ in _walk(value))


def objects(value: Any) -> int:
    """How many objects there are in a value, itself included."""
    return sum(isinstance(part, dict) for part in _walk(value))


def _walk(value: Any) -> Iterator[Any]:
    left = [value]
    while left:
        part = left.pop()
        yield part
        if isinstance(part, dict):
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)
