"""Python values to Arrow columns that DuckDB takes, whatever a trace holds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa

TEXT: pa.DataType = pa.string()
JSON: pa.DataType = pa.large_string()
TEXTS: pa.DataType = pa.list_(pa.string())
TIME: pa.DataType = pa.timestamp("ns")
INTEGER: pa.DataType = pa.int32()
BIGINT: pa.DataType = pa.int64()
DOUBLE: pa.DataType = pa.float64()
BOOLEAN: pa.DataType = pa.bool_()

_MAX_INT64 = (1 << 63) - 1
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_DATACLASS
Row = tuple[Any, ...]


def arrow_table(columns: Mapping[str, pa.DataType], rows: Sequence[Row]) -> pa.Table:
    """Return the rows as a table; values that do not fit are made to fit, never refused."""
    values = zip(*rows, strict=True) if rows else ([] for _ in columns)
    arrays = [_array(v, t) for v, t in zip(values, columns.values(), strict=True)]
    return pa.Table.from_arrays(arrays, names=list(columns))


def json_text(value: Any) -> str | None:
    """Return `value` as JSON text; None for None; NaN and infinities become null."""
    if value is None:
        return None
    try:
        return orjson.dumps(value, option=_OPTIONS).decode()
    except (TypeError, ValueError, RecursionError):
        return _patient_json(value)


def _patient_json(value: Any) -> str:
    """Return JSON text of what orjson refuses: huge integers, lone surrogates, deep nesting."""
    try:
        return json.dumps(_without_nan(value), default=str)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(f"not representable as JSON: {type(value).__name__}")


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return value


def text_or_null(value: str | None) -> str | None:
    """Return `value`, or None where it is empty."""
    return value or None


def time_or_null(time_ns: int) -> int | None:
    """Return `time_ns` inside the range of a timestamp, or None where it is 0."""
    return min(time_ns, _MAX_INT64) if time_ns > 0 else None


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array[Any]:
    try:
        return pa.array(values, type_)
    except (UnicodeError, OverflowError, pa.ArrowException):
        fit = _FITTERS.get(type_, _fit_other)
        return pa.array([None if v is None else fit(v) for v in values], type_)


def _fit_text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()


def _fit_integer(value: Any) -> int:
    return max(-_MAX_INT64, min(int(value), _MAX_INT64))


def _fit_other(value: Any) -> Any:
    return value


_FITTERS: dict[pa.DataType, Callable[[Any], Any]] = {
    TEXT: _fit_text,
    JSON: _fit_text,
    TEXTS: lambda value: [_fit_text(v) for v in value],
    BIGINT: _fit_integer,
    TIME: _fit_integer,
    DOUBLE: float,
}
