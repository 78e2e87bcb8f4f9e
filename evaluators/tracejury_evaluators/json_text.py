"""JSON that a model wrote: read strictly, and bounded in depth."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

MAX_DEPTH = 64
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(\w*)[ \t]*")
FENCED_AS_JSON = ("", "json")
KINDS = {
    bool: "boolean",
    str: "string",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, number in counts.items() if number > 1)
        raise ValueError(f"an object has the key {twice[:80]!r} twice")
    return found


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
STRICT_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_unique)


def parse(text: str, *, unique_keys: bool = False) -> Any:
    """The data that a JSON text holds, nested no deeper than `MAX_DEPTH` levels.

    Of equal keys in one object the last counts, unless `unique_keys` refuses them.
    Raises: ValueError where it is no JSON, as with NaN, or too deep; the message completes "the
    output is no JSON:".
    """
    if not text.strip():
        raise ValueError("it is empty")
    try:
        data = (STRICT_DECODER if unique_keys else DECODER).decode(text)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise ValueError(_in_words(error)) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(data) > MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    return data


def _in_words(error: ValueError) -> str:
    if "integer string conversion" in str(error):
        return f"it holds a number of more than {sys.get_int_max_str_digits()} digits"
    return str(error)


def unfenced(text: str) -> str:
    """What stands in the first code fence that is marked as JSON or not at all.

    The text itself where there is no such fence; a fence that is not closed runs to the end.
    """
    lines = text.splitlines(keepends=True)
    marker, start = "", -1
    for number, line in enumerate(lines):
        fence = FENCE.fullmatch(line.rstrip("\r\n"))
        if fence is None:
            continue
        if not marker:
            marker = fence[1]
            start = number + 1 if fence[2].lower() in FENCED_AS_JSON else -1
        elif fence[1].startswith(marker) and not fence[2]:
            if start >= 0:
                return "".join(lines[start:number])
            marker = ""
    return "".join(lines[start:]) if marker and start >= 0 else text


def kind_of(value: Any) -> str:
    """What JSON calls a value: object, array, string, number, boolean or null."""
    return KINDS.get(type(value), "null")


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
