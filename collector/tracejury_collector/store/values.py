"""Arrow columns as values that JSON can hold without loss or surprise."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as t

LARGEST_SAFE_INTEGER = 1 << 53
"""Beyond this a reader that keeps numbers as doubles would round; such integers become text."""

_NS_PER_UNIT = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_SAFE_DIGITS = 15


def json_values(column: pa.ChunkedArray[Any] | pa.Array[Any]) -> list[Any]:
    """Return the column's values.

    Times are RFC 3339 text in UTC, decimals text unless a double holds them, integers beyond 2^53
    text, bytes base64, NaN and infinities None; lists and objects hold the same.
    """
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in json_values(chunk)]
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return json_values(column.storage)
    if t.is_dictionary(kind):
        return json_values(column.cast(kind.value_type))
    if t.is_timestamp(kind):
        return _times(column)
    if t.is_date32(kind):
        days = column.cast(pa.int32()).to_pylist()
        return [None if day is None else str(np.datetime64(day, "D")) for day in days]
    if t.is_struct(kind):
        return _objects(column)
    if t.is_map(kind):
        return _maps(column)
    if t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind):
        return _lists(column)
    convert = _converter(kind)
    return [None if value is None else convert(value) for value in column.to_pylist()]


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    if t.is_integer(kind):
        return _integer
    if t.is_floating(kind):
        return _double
    if t.is_decimal(kind):
        return _integer_of_decimal if kind.scale == 0 else _decimal(kind.precision)
    if t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind):
        return lambda value: base64.b64encode(value).decode()
    if t.is_interval(kind):
        return _interval
    if t.is_boolean(kind) or t.is_string(kind) or t.is_large_string(kind) or t.is_null(kind):
        return lambda value: value
    return str


def _integer(value: int) -> int | str:
    return value if abs(value) <= LARGEST_SAFE_INTEGER else str(value)


def _integer_of_decimal(value: Any) -> int | str:
    return _integer(int(value))


def _double(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _decimal(precision: int) -> Callable[[Any], Any]:
    return float if precision <= _SAFE_DIGITS else str


def _interval(value: Any) -> str:
    """Return an ISO 8601 duration."""
    return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:g}S"


def _times(column: pa.Array[Any]) -> list[str | None]:
    """Return RFC 3339 text, with as many digits of the second as are needed."""
    factor = _NS_PER_UNIT[column.type.unit]
    numbers = column.cast(pa.timestamp(column.type.unit)).cast(pa.int64()).to_pylist()
    return [None if number is None else _time(number * factor) for number in numbers]


def _time(ns: int) -> str:
    seconds, fraction = divmod(ns, 1_000_000_000)
    text = str(np.datetime64(seconds, "s"))
    digits = f"{fraction:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{text}.{digits}Z" if digits else f"{text}Z"


def _lists(column: Any) -> list[list[Any] | None]:
    flat = json_values(column.flatten())
    found: list[list[Any] | None] = []
    start = 0
    for length in column.value_lengths().to_pylist():
        found.append(None if length is None else flat[start : start + length])
        start += length or 0
    return found


def _objects(column: Any) -> list[dict[str, Any] | None]:
    names = [column.type.field(i).name for i in range(column.type.num_fields)]
    members = [json_values(member) for member in column.flatten()]
    valid = column.is_valid().to_pylist()
    return [
        dict(zip(names, (member[row] for member in members), strict=True)) if is_valid else None
        for row, is_valid in enumerate(valid)
    ]


def _maps(column: Any) -> list[dict[str, Any] | None]:
    """Return objects; a key that is not text is written as text."""
    keys, items = json_values(column.keys), json_values(column.items)
    ends = column.offsets.to_pylist()
    valid = column.is_valid().to_pylist()
    return [
        dict(zip(map(str, keys[start:end]), items[start:end], strict=True)) if is_valid else None
        for start, end, is_valid in zip(ends[:-1], ends[1:], valid, strict=True)
    ]
