"""Values as libraries record them: JSON in strings, numbers as text, redaction marks."""

from __future__ import annotations

import ast
import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic_core import from_json

from tracejury.dialects.pyrepr import is_cut, parse_start

MAX_LAYERS = 3
MAX_DEPTH = 64
MAX_REPR_CHARS = 200_000
REDACTED = frozenset(
    {
        *("<REDACTED>", "[REDACTED]", "__REDACTED__", "<redacted>", "<elided>", "REDACTED"),
        "[redacted:attribute]",
    }
)
_PLACEHOLDER_CHARS = 20
PLACEHOLDERS = REDACTED | {"", "N/A", "<not specified>", "<not serializable>"}
_NO_NAMES = PLACEHOLDERS | {"unknown", "Unknown", "UNKNOWN"}
_JSON_OPENERS = frozenset("{[")
_OPENERS = frozenset('{["( \n\t\r')
# How base64 of an object or list begins.
_BASE64_JSON = ("ey", "e3", "W1", "W3", "Wy", "Wz")
_TRUNCATED_MARKS = ("...[TRUNCATED", "… [truncated", "...[truncated")
_JSON_START = re.compile(r"\s*(?:\{\s*[\"']|\[\s*[{\[\"'])")
_BRACKETS = re.compile(r"[\[\]{}]")


def decode(value: Any) -> Any:
    """The data behind JSON text or a Python literal (up to `MAX_LAYERS` deep), else the value.

    Scalars in text stay text: only objects and arrays are taken for data.
    """
    layers = 0
    while isinstance(value, str) and value[:1] in _OPENERS and layers < MAX_LAYERS:
        data = _parse(value)
        if data is None:
            return value
        value = data
        layers += 1
    return value


def decode_bytes(value: Any) -> Any:
    """The object or list that base64 text stands for, as bytes of JSON arrive; else None."""
    if not isinstance(value, str) or not value.startswith(_BASE64_JSON):
        return None
    try:
        text = base64.b64decode(value, validate=True).decode()
    except ValueError:
        return None
    return decode_strict(text)


def decode_strict(value: Any) -> Any:
    """Like `decode`, but None where text holds no object or array."""
    data = decode(value)
    return data if isinstance(data, dict | list) else None


def _parse(text: str) -> Any:
    first = text.lstrip()[:1]
    if not first or first not in '{["(':
        return None
    if _may_be_deep(text) and nesting(text) > MAX_DEPTH:
        return None
    data = _parse_json(text)
    if isinstance(data, dict | list):
        return data
    if isinstance(data, str):
        return _quoted(data)
    return _parse_literal(text) if first != '"' else None


def _quoted(text: str) -> str | None:
    """The text of an object or array that was quoted several times, None if none is inside."""
    for _ in range(MAX_LAYERS - 1):
        first = text.lstrip()[:1]
        if first in ("{", "["):
            return text if _parse(text) is not None else None
        data = _parse_json(text) if first == '"' else None
        if not isinstance(data, str):
            return None
        text = data
    return None


def _parse_json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    if "NaN" not in text and "Infinity" not in text:
        return None
    try:
        data = json.loads(text, parse_constant=lambda _: None)
        orjson.dumps(data)
    except (ValueError, TypeError, RecursionError):
        return None
    return data


def _parse_literal(text: str) -> Any:
    """The value of a Python literal: some libraries record `str(value)`."""
    if len(text) > MAX_REPR_CHARS or "'" not in text:
        return None
    try:
        data = ast.literal_eval(text.strip())
        if not isinstance(data, dict | list | tuple):
            return None
        return orjson.loads(orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _may_be_deep(text: str) -> bool:
    return text.count("[") + text.count("{") > MAX_DEPTH


def nesting(text: str) -> int:
    """The deepest nesting of brackets in the text, strings not regarded."""
    depth = deepest = 0
    for mark in _BRACKETS.findall(text):
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif depth:
            depth -= 1
    return deepest


def unquoted(value: Any) -> Any:
    """The text behind a JSON string; other values as they are."""
    if isinstance(value, str) and value[:1] == '"' and value[-1:] == '"':
        data = _parse_json(value)
        return data if isinstance(data, str) else value
    return value


def to_text(value: Any) -> str:
    """The value as text: strings as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError, RecursionError):
        return _repr(value)


def _repr(value: Any) -> str:
    try:
        return json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        return "<not serializable>"


def is_blank(value: Any) -> bool:
    """Whether nothing or only a placeholder was recorded."""
    return value is None or (
        isinstance(value, str) and len(value) <= _PLACEHOLDER_CHARS and value in PLACEHOLDERS
    )


def to_content(value: Any) -> str | None:
    """The recorded text, None where nothing or only a placeholder was recorded."""
    if isinstance(value, str):
        return None if len(value) <= _PLACEHOLDER_CHARS and value in PLACEHOLDERS else value
    return None if value is None else to_text(value)


def to_name(value: Any) -> str:
    """The value as a name; "" where it holds none."""
    if isinstance(value, str):
        text = value.strip()
    elif isinstance(value, bool | float | Mapping) or value is None:
        return ""
    elif isinstance(value, Sequence):
        return to_name(value[0]) if value and isinstance(value[0], str) else ""
    else:
        text = str(value)
    return "" if text in _NO_NAMES else text


def to_int(value: Any) -> int | None:
    """The value as a count, None where it is none (negative, not finite, not a number)."""
    if type(value) is int:
        return value if 0 <= value < 2**53 else None
    number = to_float(value)
    return None if number is None or not 0 <= number < 2**53 else int(number)


def to_float(value: Any) -> float | None:
    """The value as a finite number, None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def to_amount(value: Any) -> float | None:
    """The value as an amount of money, None where it is none."""
    number = to_float(value)
    return number if number is not None and number >= 0 else None


def is_redacted(value: Any) -> bool:
    """Whether the value is only a mark that something was removed."""
    return isinstance(value, str) and len(value) <= _PLACEHOLDER_CHARS and value in REDACTED


def is_truncated(text: str) -> bool:
    """Whether JSON text was cut off."""
    is_open = text.lstrip()[:1] in _JSON_OPENERS and text.rstrip()[-1:] not in "}]"
    if is_open and _JSON_START.match(text):
        return True
    if is_cut(text):
        return True
    end = text[-80:]
    if "[TRUNCATED" not in end and "[truncated" not in end:
        return False
    return any(mark in end for mark in _TRUNCATED_MARKS)


def salvage(value: Any) -> Any:
    """The data at the start of the text of JSON or an object that was cut off; None for others."""
    if not isinstance(value, str) or not value or not is_truncated(value):
        return None
    if is_cut(value):
        return parse_start(value)
    if _may_be_deep(value) and nesting(value) > MAX_DEPTH:
        return None
    try:
        data = from_json(value, allow_partial="trailing-strings")
    except ValueError:
        return None
    return data if isinstance(data, dict | list) and data else None


def looks_like_schema(value: Any) -> bool:
    """Whether a tool's `parameters` are its JSON Schema rather than the call's arguments."""
    data = decode(value)
    if not isinstance(data, dict) or not data:
        return False
    if data.get("type") == "object" and "properties" in data:
        return True
    return all(
        isinstance(item, dict) and "type" in item and not {"value", "content"} & item.keys()
        for item in data.values()
    )
