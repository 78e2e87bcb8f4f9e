"""Attribute values, from either encoding to one plain form that JSON can hold.

Bytes become base64 text, key-value lists objects, NaN and the infinities the texts that the
protobuf JSON mapping gives them; an empty value is null.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tracejury_collector.redaction import Base64

Plain: TypeAlias = "str | bool | int | float | list[Plain] | dict[str, Plain] | None"

_INT64 = range(-(1 << 63), 1 << 63)
_INTEGER = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Rejected(Exception):
    """One span or log record cannot be taken; its neighbours can."""


def proto_value(value: AnyValue, depth: int) -> Plain:
    """Return the plain form of a protobuf value that nests at most `depth` deep.

    Raises: Rejected
    """
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return str(value.string_value)
    if kind == "int_value":
        return int(value.int_value)
    if kind == "double_value":
        return plain_float(value.double_value)
    if kind == "bool_value":
        return bool(value.bool_value)
    if kind == "array_value":
        _check_depth(depth)
        return [proto_value(item, depth - 1) for item in value.array_value.values]
    if kind == "kvlist_value":
        _check_depth(depth)
        return {item.key: proto_value(item.value, depth - 1) for item in value.kvlist_value.values}
    if kind == "bytes_value":
        return Base64.of(value.bytes_value)
    return None


def proto_attributes(
    pairs: Sequence[KeyValue], depth: int, limit: int
) -> tuple[dict[str, Plain], int]:
    """Return attributes by key, of equal keys the last, and how many were cut beyond `limit`.

    Raises: Rejected
    """
    attributes: dict[str, Plain] = {}
    cut = len(pairs) - limit
    for pair in pairs if cut <= 0 else pairs[:limit]:
        value = pair.value
        attributes[pair.key] = value.string_value or proto_value(value, depth)
    return attributes, max(0, cut)


def plain_float(value: float) -> float | str:
    """Return the number, or the text that stands for one that JSON cannot hold."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _check_depth(depth: int) -> None:
    if depth <= 0:
        raise Rejected("an attribute is nested too deep")


def json_value(value: object, depth: int) -> Plain:
    """Return the plain form of an OTLP/JSON value that nests at most `depth` deep.

    Raises: Rejected
    """
    fields = json_object(value, "a value")
    plain: Plain = None
    for name, content in fields.items():
        if content is not None and name in _JSON_VALUES:
            plain = _JSON_VALUES[name](content, depth)
    return plain


def json_attributes(pairs: object, depth: int, limit: int) -> tuple[dict[str, Plain], int]:
    """Return attributes by key, and how many were cut beyond `limit`.

    Raises: Rejected
    """
    items = json_list(pairs, "attributes")
    attributes: dict[str, Plain] = {}
    for item in items[:limit]:
        pair = json_object(item, "an attribute")
        value = pair.get("value")
        if (
            type(value) is dict
            and len(value) == 1
            and type(text := value.get("stringValue")) is str
        ):
            attributes[json_text(pair, "key")] = text
        else:
            attributes[json_text(pair, "key")] = json_value(value, depth)
    return attributes, max(0, len(items) - limit)


def json_object(value: object, what: str) -> Mapping[str, Any]:
    """Return the JSON object `value`; null stands for an empty one.

    Raises: Rejected
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Rejected(f"{what} is not a JSON object")
    return value


def json_list(value: object, what: str) -> list[Any]:
    """Return the JSON array `value`; null stands for an empty one.

    Raises: Rejected
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise Rejected(f"{what} is not a JSON array")
    return value


def json_text(fields: Mapping[str, Any], name: str) -> str:
    """Return a text field; absent is "".

    Raises: Rejected
    """
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Rejected(f"{name} is not a text")
    return value


def json_int(fields: Mapping[str, Any], name: str, allowed: range) -> int:
    """Return an integer field given as a number or a text; absent is 0.

    Raises: Rejected
    """
    value = fields.get(name)
    return 0 if value is None else _integer(value, name, allowed)


def _integer(value: object, name: str, allowed: range) -> int:
    is_text = isinstance(value, str) and _INTEGER.fullmatch(value)
    is_whole = isinstance(value, float) and value.is_integer()
    number = int(value) if is_text or is_whole else value  # type: ignore[call-overload]
    if not isinstance(number, int) or isinstance(number, bool) or number not in allowed:
        raise Rejected(f"{name} is not an integer in its range")
    return number


def _json_double(value: object) -> float | str:
    if isinstance(value, str):
        if value in _SPECIAL:
            return value
        try:
            value = float(value)
        except ValueError:
            raise Rejected("doubleValue is not a number") from None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise Rejected("doubleValue is not a number")
    try:
        return plain_float(float(value))
    except OverflowError:
        raise Rejected("doubleValue is out of range") from None


def _json_string(value: object, _depth: int) -> str:
    if not isinstance(value, str):
        raise Rejected("stringValue is not a text")
    return value


def _json_bool(value: object, _depth: int) -> bool:
    if not isinstance(value, bool):
        raise Rejected("boolValue is not true or false")
    return value


def _json_bytes(value: object, _depth: int) -> str:
    return Base64.of(decode_base64(value, "bytesValue"))


def decode_base64(value: object, what: str) -> bytes:
    """Return the bytes of standard or URL-safe base64, padded or not.

    Raises: Rejected
    """
    if isinstance(value, str):
        text = value.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            pass
    raise Rejected(f"{what} is not base64")


def _json_array(value: object, depth: int) -> Plain:
    _check_depth(depth)
    items = json_list(json_object(value, "arrayValue").get("values"), "values")
    return [json_value(item, depth - 1) for item in items]


def _json_map(value: object, depth: int) -> Plain:
    _check_depth(depth)
    pairs = json_object(value, "kvlistValue").get("values")
    items = (json_object(item, "an attribute") for item in json_list(pairs, "values"))
    return {json_text(item, "key"): json_value(item.get("value"), depth - 1) for item in items}


_JSON_VALUES: dict[str, Callable[[object, int], Plain]] = {
    "stringValue": _json_string,
    "boolValue": _json_bool,
    "intValue": lambda value, _depth: _integer(value, "intValue", _INT64),
    "doubleValue": lambda value, _depth: _json_double(value),
    "bytesValue": _json_bytes,
    "arrayValue": _json_array,
    "kvlistValue": _json_map,
}
