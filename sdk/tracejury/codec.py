"""Traces as JSON and back."""

from __future__ import annotations

from functools import lru_cache

from pydantic import TypeAdapter

from tracejury.trace import Trace


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Trace]:
    return TypeAdapter(Trace)


def dump_trace(trace: Trace) -> bytes:
    """The trace as JSON."""
    return _adapter().dump_json(trace, exclude_defaults=True)


def load_trace(data: bytes) -> Trace:
    """The trace behind the JSON of `dump_trace`.

    Raises: pydantic.ValidationError if the data is no trace.
    """
    return _adapter().validate_json(data)
