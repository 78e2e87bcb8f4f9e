"""The canonical columns of a span: what the dialects in force make of what it carries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from tracejury import dialects

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.:-]+")  # means nothing but itself in a JSON path
_SHORT_TEXT = 64  # characters that may stand in a row twice
_NAMES = (  # texts where "" means that nothing was recorded
    "error_type", "error_message", "dialect", "session_id", "user_id",
    "agent_name", "provider", "model", "operation",
)  # fmt: skip
_NAMED = ("tool_name", "tool_call_id")
_TEXTS = ("input", "output", "tool_arguments", "tool_result")
_AMOUNTS = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
    "reasoning_tokens", "cost_usd",
)  # fmt: skip
_AS_FOUND = ("kind", *_NAMED, *_AMOUNTS)

COLUMNS: tuple[str, ...] = (
    "kind",
    *_NAMES,
    "input",
    "output",
    *_NAMED,
    "tool_arguments",
    "tool_result",
    *(f"{name}_path" for name in _TEXTS),
    *_AMOUNTS,
)
"""The columns of `base.spans` that follow from the raw ones, in the order of `canonical_row`."""


def canonical_row(
    *,
    scope_name: str,
    resource: Mapping[str, Any],
    name: str,
    attributes: Mapping[str, Any],
    events: Sequence[tuple[str, Mapping[str, Any]]],
    otel_kind: str,
) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`, see `canonical_columns`."""
    found = dialects.resolve(
        scope_name=scope_name,
        resource=resource,
        name=name,
        attributes=attributes,
        events=events,
        otel_kind=otel_kind,
    )
    columns = canonical_columns([found], [attributes])
    return tuple(columns[name][0] for name in COLUMNS)


def canonical_columns(
    found: Sequence[dialects.Fields], attributes: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """Return `COLUMNS` of spans that are resolved already, from their fields and attributes.

    A long text that is an attribute is kept as its path.
    """
    columns = {name: list(map(attrgetter(name), found)) for name in _AS_FOUND}
    for name in _NAMES:
        columns[name] = [text or None for text in map(attrgetter(name), found)]
    for name in _TEXTS:
        columns[name], columns[f"{name}_path"] = _placed(name, found, attributes)
    return columns


def _placed(
    name: str, found: Sequence[dialects.Fields], attributes: Sequence[Mapping[str, Any]]
) -> tuple[list[str | None], list[str | None]]:
    """Return the texts of a field, or where they stand among the attributes."""
    texts: list[str | None] = list(map(attrgetter(name), found))
    paths: list[str | None] = [None] * len(texts)
    for n, text in enumerate(texts):
        if text is not None and len(text) > _SHORT_TEXT:
            path = _path(text, found[n].whole.get(name), attributes[n])
            if path:
                texts[n], paths[n] = None, path
    return texts, paths


def _path(text: str, key: str | None, attributes: Mapping[str, Any]) -> str | None:
    """Return the JSON path of the attribute that is this text; None if none is.

    `key` names it where that is known.
    """
    if key is None:
        key = next((key for key, value in attributes.items() if value == text), None)
    return f'$."{key}"' if key is not None and _PLAIN_KEY.fullmatch(key) else None
