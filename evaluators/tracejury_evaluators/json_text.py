"""JSON that a model wrote: read strictly, and bounded in depth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

MAX_DEPTH = 64
FENCED = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?[ \t]*\1\s*", re.DOTALL)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def parse(text: str) -> Any:
    """The data that a JSON text holds, nested no deeper than `MAX_DEPTH` levels.

    Of equal keys in one object the last counts.
    Raises: ValueError where it is no JSON, as with NaN, or too deep; the message completes "it".
    """
    return _read(text, DECODER)


def _read(text: str, decoder: json.JSONDecoder) -> Any:
    if not text.strip():
        raise ValueError("it is empty")
    try:
        data = decoder.decode(text)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(data) > MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    return data


def depth(value: Any, limit: int = MAX_DEPTH) -> int:
    """How many levels of arrays and objects the data has, counted to one past `limit`."""
    level = 0
    row = [value]
    while level <= limit and (nested := [item for item in row if isinstance(item, (list, dict))]):
        level += 1
        row = [child for item in nested for child in _children(item)]
    return level


def _children(item: list[Any] | dict[str, Any]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item
