"""Outcomes made fit to store: valid JSON, valid UTF-8, of bounded size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from tracejury.result import Failure, Outcome, Score, Skip, default_verdict

MAX_REASON_CHARS = 4_000
MAX_ITEMS = 100
MAX_ITEM_CHARS = 500
MAX_DETAILS_BYTES = 64 * 1024
MAX_TRACEBACK_CHARS = 8_000
MAX_PLAIN_ENTRIES = 32


def bounded(outcome: Outcome, threshold: float = 1.0) -> Outcome:
    """The outcome with a verdict, long texts and lists cut, and details as plain JSON data."""
    if isinstance(outcome, Score):
        if outcome.verdict and type(outcome) is Score and _is_small(outcome):
            return outcome
        return Score(
            outcome.value,
            outcome.verdict or default_verdict(outcome.value, threshold),
            clip(outcome.reason, MAX_REASON_CHARS),
            _clip_items(outcome.hits),
            _clip_items(outcome.misses),
            plain_details(outcome.details),
            tuple([clip(span_id, MAX_ITEM_CHARS) for span_id in outcome.evidence[:MAX_ITEMS]]),
            outcome.spent,
        )
    if isinstance(outcome, Skip):
        return Skip(
            clip(outcome.reason, MAX_REASON_CHARS), plain_details(outcome.details), outcome.spent
        )
    return Failure(
        clip(outcome.error_type, MAX_ITEM_CHARS),
        clip(outcome.message, MAX_REASON_CHARS),
        clip_start(outcome.traceback, MAX_TRACEBACK_CHARS),
        outcome.spent,
    )


def _is_small(score: Score) -> bool:
    """Whether nothing of a score has to be cut or made plain; quickly, for most need nothing."""
    return (
        type(score.reason) is str
        and score.reason.isascii()
        and len(score.reason) <= MAX_REASON_CHARS
        and _are_small(score.hits)
        and _are_small(score.misses)
        and _are_small(score.evidence)
        and _are_plain(score.details)
    )


def _are_small(items: Sequence[str]) -> bool:
    return not items or (
        len(items) <= MAX_ITEMS
        and all(
            type(item) is str and len(item) <= MAX_ITEM_CHARS and item.isascii() for item in items
        )
    )


def _are_plain(details: Mapping[str, Any]) -> bool:
    """Whether the details are a few short texts and numbers."""
    return not details or (
        type(details) is dict
        and len(details) <= MAX_PLAIN_ENTRIES
        and all(
            type(key) is str and key.isascii() and len(key) <= MAX_ITEM_CHARS and _is_plain(value)
            for key, value in details.items()
        )
    )


def _is_plain(value: object) -> bool:
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        return len(text) <= MAX_ITEM_CHARS and text.isascii()
    if kind is float:
        return math.isfinite(cast("float", value))
    return kind is bool or value is None or (kind is int and abs(cast("int", value)) < 2**53)


def clip(text: str, limit: int) -> str:
    """The text, cut at its end to `limit` characters, without lone surrogates."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode("utf-8")


def clip_start(text: str, limit: int) -> str:
    """The text, cut at its start to `limit` characters: the end of a traceback says most."""
    return clip(text if len(text) <= limit else "…" + text[1 - limit :], limit)


def plain_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """The details as JSON data: NaN as text, sets as lists, unknown objects as their text.

    What is nested too deep, refers to itself or is too large is replaced by a note that says so.
    """
    if not details:
        return {}
    try:
        text = _json_bytes(dict(details))
        if len(text) > MAX_DETAILS_BYTES:
            return {"dropped": f"the details took {len(text)} bytes, over {MAX_DETAILS_BYTES}"}
        return cast("dict[str, Any]", orjson.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        return {"dropped": clip(f"the details are no JSON data: {error}", MAX_ITEM_CHARS)}


def _json_bytes(value: object) -> bytes:
    try:
        return to_json(value, fallback=_text_of, inf_nan_mode="strings", bytes_mode="base64")
    except PydanticSerializationError:
        plain = to_jsonable_python(value, fallback=_text_of, bytes_mode="base64")
        return to_json(_without_surrogates(plain), inf_nan_mode="strings")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return clip(value, len(value) + 1)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(v) for key, v in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _text_of(value: object) -> str:
    return clip(str(value), MAX_ITEM_CHARS)


def _clip_items(items: Sequence[str]) -> tuple[str, ...]:
    if not items:
        return ()
    kept = tuple([clip(item, MAX_ITEM_CHARS) for item in items[:MAX_ITEMS]])
    left = len(items) - len(kept)
    return (*kept[:-1], f"… and {left + 1} more") if left else kept
