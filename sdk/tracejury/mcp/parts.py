"""A trace in parts, so that each fits into an answer."""

from __future__ import annotations

from typing import Any, Literal

from tracejury.mcp import shaping
from tracejury.rest import TraceDetail

TracePart = Literal[
    "overview",
    "input_text",
    "output_text",
    "turns",
    "tool_calls",
    "llm_calls",
    "messages",
    "documents",
    "spans",
    "results",
    "decisions",
    "labels",
]
_LISTS = (
    "turns",
    "tool_calls",
    "llm_calls",
    "messages",
    "documents",
    "spans",
    "results",
    "decisions",
    "labels",
)
_TEXT_EXCERPT = 2_000
_CALL_EXCERPT = 120
_MOST_CALLS = 50


def overview(trace: TraceDetail) -> dict[str, Any]:
    """Return what the trace is, how many items its parts have, and its tool calls in short."""
    data = trace.model_dump(mode="json")
    head = {key: value for key, value in data.items() if key not in _LISTS}
    calls = [shaping.cut(call, _CALL_EXCERPT) for call in data["tool_calls"][:_MOST_CALLS]]
    results = [_verdict(result) for result in data["results"] if not result["superseded"]]
    return {
        **shaping.cut(shaping.present(head), _TEXT_EXCERPT),
        "parts": {name: len(data[name]) for name in _LISTS},
        "tool_calls": shaping.present(calls),
        "results": shaping.cut(shaping.present(results), _TEXT_EXCERPT // 10),
    }


def part_of(trace: TraceDetail, part: TracePart) -> str | list[Any]:
    """Return one part of the trace, whole."""
    kept: set[str] = {part}
    found: str | list[Any] = trace.model_dump(mode="json", include=kept)[part]
    return found


def _verdict(result: dict[str, Any]) -> dict[str, Any]:
    kept = ("evaluator", "outcome", "score", "verdict", "reason", "error_message")
    return {key: result[key] for key in kept}
