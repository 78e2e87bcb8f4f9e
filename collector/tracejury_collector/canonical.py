"""The canonical columns of a span: what the dialects in force make of what it carries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from tracejury import dialects

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.:-]+")  # means nothing but itself in a JSON path
_SHORT_TEXT = 64  # characters that may stand in a row twice
_NAMES = (
    "error_type", "error_message", "dialect", "session_id", "user_id",
    "agent_name", "provider", "model", "operation",
)  # fmt: skip
_TEXTS = ("input", "output", "tool_arguments", "tool_result")
_AMOUNTS = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
    "reasoning_tokens", "cost_usd",
)  # fmt: skip
_names = attrgetter(*_NAMES)  # texts where "" means that nothing was recorded
_texts = attrgetter(*_TEXTS)
_amounts = attrgetter(*_AMOUNTS)

COLUMNS: tuple[str, ...] = (
    "kind",
    *_NAMES,
    "input",
    "output",
    "tool_name",
    "tool_call_id",
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
    """Return the values of `COLUMNS`; a long text that is an attribute is kept as its path."""
    found = dialects.resolve(
        scope_name=scope_name,
        resource=resource,
        name=name,
        attributes=attributes,
        events=events,
        otel_kind=otel_kind,
    )
    return canonical_values(found, attributes)


def canonical_values(found: dialects.Fields, attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of `COLUMNS` of a span that is resolved already."""
    texts = _texts(found)
    paths = [_path(text, attributes) for text in texts]
    kept = [None if path else text for text, path in zip(texts, paths, strict=True)]
    return (
        found.kind,
        *[text or None for text in _names(found)],
        kept[0],
        kept[1],
        found.tool_name,
        found.tool_call_id,
        kept[2],
        kept[3],
        *paths,
        *_amounts(found),
    )


def _path(text: str | None, attributes: Mapping[str, Any]) -> str | None:
    """Return the JSON path of the attribute that is this text; None if it is short or none is."""
    if text is None or len(text) <= _SHORT_TEXT:
        return None
    for key, value in attributes.items():
        if value == text:
            return f'$."{key}"' if _PLAIN_KEY.fullmatch(key) else None
    return None
