"""Places inside JSON data: JSON Pointer, and the plain part of JSONPath."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MAX_PATH_CHARS = 1_000
MAX_FOUND = 10_000
STEP = re.compile(
    r"""\.?\[(?P<index>-?\d{1,9})\]      # [0], [-1]
      | \.?\[(?P<every>\*)\]             # [*]
      | \.?\['(?P<single>[^']*)'\]       # ['a key']
      | \.?\["(?P<double>[^"]*)"\]       # ["a key"]
      | \.(?P<star>\*)                   # .*
      | \.(?P<name>[^.\[\]*'"\s]+)       # .key
    """,
    re.VERBOSE,
)
Step = str | int | None
"""A key, an index, or None for every item."""


def read_path(path: str) -> tuple[Step, ...]:
    """The steps of a path: `$.a[0].b`, `a.b`, `$['a key'][*]`, or a JSON Pointer such as `/a/0`.

    Raises: ValueError where it is neither; the message shows what is understood.
    Source: RFC 6901; names, indexes and wildcards of RFC 9535.
    """
    if len(path) > MAX_PATH_CHARS:
        raise ValueError(f"a path has no more than {MAX_PATH_CHARS} characters")
    if path.startswith("/"):
        return tuple(_unescaped(part) for part in path[1:].split("/"))
    if path in ("", "$"):
        return ()
    rest = path[1:] if path.startswith("$") else path if path.startswith("[") else f".{path}"
    steps: list[Step] = []
    position = 0
    while position < len(rest):
        found = STEP.match(rest, position)
        if found is None:
            raise ValueError(
                f"the path {path!r} cannot be read from {rest[position:]!r} on; "
                "write $.key, $['a key'], [0], [*], or a JSON Pointer such as /key/0"
            )
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def find(data: Any, steps: Iterable[Step]) -> list[Any]:
    """The values at a path: none where it leads nowhere, several only with wildcards.

    Raises: ValueError where more values are there than can be looked at.
    """
    found = [data]
    for step in steps:
        found = [value for item in found for value in _below(item, step)]
        if len(found) > MAX_FOUND:
            raise ValueError(f"a path leads to more than {MAX_FOUND} values")
    return found


def _below(item: Any, step: Step) -> list[Any]:
    if step is None:
        return list(item.values()) if isinstance(item, dict) else item if _is_list(item) else []
    if isinstance(item, dict):
        return [item[str(step)]] if str(step) in item else []
    if not _is_list(item):
        return []
    index = step if isinstance(step, int) else _index(step)
    return [item[index]] if index is not None and -len(item) <= index < len(item) else []


def _is_list(item: Any) -> bool:
    return isinstance(item, list)


def _index(step: str) -> int | None:
    """The index that a step of a JSON Pointer names in a list: digits without leading zeros."""
    is_index = step == "0" or (step.isascii() and step.isdigit() and step[0] != "0")
    return int(step) if is_index and len(step) < 10 else None


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    if found["every"] or found["star"]:
        return None
    return next(found[name] for name in ("single", "double", "name") if found[name] is not None)


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
