"""Metrics are not kept; their data points are counted, so that the sender learns of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import orjson

from tracejury_collector.errors import MalformedRequest
from tracejury_collector.receive import wire

_MAX_MESSAGES = 2_000_000
_PROTO_PATH: tuple[tuple[int, ...], ...] = ((1,), (2,), (2,), (5, 7, 9, 10, 11), (1,))
_JSON_PATH = ("resourceMetrics", "scopeMetrics", "metrics")
_JSON_KINDS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")


def count_data_points(encoding: Literal["protobuf", "json"], body: bytes) -> int:
    """Return how many data points an ExportMetricsServiceRequest holds.

    Raises: MalformedRequest, TooLarge
    """
    if encoding == "protobuf":
        return _count_proto(body)
    try:
        return _count_json(orjson.loads(body))
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        raise MalformedRequest("the body is not an OTLP/JSON export request") from None


def _count_proto(body: bytes) -> int:
    budget = wire.Budget(_MAX_MESSAGES)
    spans = [(0, len(body))]
    for numbers in _PROTO_PATH:
        spans = [
            (field.start, field.end)
            for start, end in spans
            for field in wire.fields(body, start, end, budget)
            if field.number in numbers
        ]
    return len(spans)


def _count_json(request: Any) -> int:
    level = [request]
    for name in _JSON_PATH:
        level = list(_children(level, name))
    return sum(
        len((metric.get(kind) or {}).get("dataPoints") or ())
        for metric in level
        for kind in _JSON_KINDS
    )


def _children(parents: list[Any], name: str) -> Iterator[Any]:
    for parent in parents:
        yield from parent.get(name) or ()
