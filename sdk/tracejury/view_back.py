"""The trace behind what the API gives of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tracejury.assembly.unwrap import output_text
from tracejury.errors import TracejuryError
from tracejury.trace import Trace

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z")


def trace_from_api(data: Mapping[str, Any]) -> Trace:
    """The trace of which `GET /api/traces/{trace_id}` said this.

    Raises: TracejuryError where the data is no such answer; the message names the field.
    """
    try:
        return _adapter().validate_python(_trace(data))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise TracejuryError(f"this is no trace of the API: {place}: {first['msg']}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise TracejuryError(f"this is no trace of the API: {error}") from error


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Trace]:
    return TypeAdapter(Trace)


def _trace(data: Mapping[str, Any]) -> dict[str, Any]:
    return _timed(data) | {
        "cost": _cost(data),
        "turns": [_timed(turn) for turn in data.get("turns", ())],
        "tool_calls": [_tool_call(call) for call in data.get("tool_calls", ())],
        "llm_calls": [_timed(call) | {"cost": _cost(call)} for call in data.get("llm_calls", ())],
        "spans": [_span(span) for span in data.get("spans", ())],
    }


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    return _timed(call) | {"output_text": output_text(call.get("output"))}


def _span(span: Mapping[str, Any]) -> dict[str, Any]:
    events = [
        {**event, "time_ns": _nanoseconds(event.get("time"))} for event in span.get("events", ())
    ]
    return _timed(span) | {"cost": _cost(span), "events": events}


def _timed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, with the times in nanoseconds."""
    times = {
        f"{name}_ns": _nanoseconds(data[f"{name}_time"])
        for name in ("start", "end")
        if f"{name}_time" in data
    }
    return {**data, **times}


def _nanoseconds(time: str | None) -> int:
    if time is None:
        return 0
    match = _TIME.fullmatch(time)
    if match is None:
        raise ValueError(f"{time[:60]!r} is no time such as 2026-01-31T12:00:00.000000000Z")
    seconds = datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
    return int(seconds) * 1_000_000_000 + int(match[2])


def _cost(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"usd": data.get("cost_usd"), "source": data.get("cost_source")}
