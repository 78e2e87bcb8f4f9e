"""Outcomes made fit to store: valid JSON, valid UTF-8, of bounded size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from tracejury.result import Failure, Outcome, Score, Skip, Verdict, default_verdict

MAX_REASON_CHARS = 4_000
MAX_ITEMS = 100
MAX_ITEM_CHARS = 500
MAX_DETAILS_BYTES = 64 * 1024
MAX_TRACEBACK_CHARS = 8_000
MAX_PLAIN_ENTRIES = 32


def bounded(outcome: Outcome, threshold: float = 1.0) -> Outcome:
    """The outcome with a verdict, long texts and lists cut, and details as plain JSON data."""
    if isinstance(outcome, Score):
        verdict = outcome.verdict or default_verdict(outcome.value, threshold)
        if type(outcome) is Score and _is_short(outcome):
            return _with(outcome, verdict)
        return Score(
            outcome.value,
            verdict,
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


def _is_short(score: Score) -> bool:
    """Whether no text of a score has to be cut; quickly, for most need nothing."""
    return (
        type(score.reason) is str
        and score.reason.isascii()
        and len(score.reason) <= MAX_REASON_CHARS
        and _are_short(score.hits)
        and _are_short(score.misses)
        and _are_short(score.evidence)
    )


def _are_short(items: Sequence[str]) -> bool:
    if len(items) > MAX_ITEMS:
        return False
    for item in items:
        if type(item) is not str or len(item) > MAX_ITEM_CHARS or not item.isascii():
            return False
    return True


def _with(score: Score, verdict: Verdict) -> Score:
    """A score of short texts with its verdict and plain details: itself where it has them."""
    plain = _are_plain(score.details)
    if score.verdict and plain:
        return score
    return Score(
        score.value,
        verdict,
        score.reason,
        score.hits,
        score.misses,
        score.details if plain else plain_details(score.details),
        score.evidence,
        score.spent,
    )


def _are_plain(details: Mapping[str, Any]) -> bool:
    """Whether the details are a few short texts and numbers."""
    if type(details) is not dict or len(details) > MAX_PLAIN_ENTRIES:
        return not details
    for key, value in details.items():
        if type(key) is not str or not _is_plain(key) or not _is_plain(value):
            return False
    return True


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
