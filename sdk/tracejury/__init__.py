"""Tracejury: a jury for agent traces."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracejury.evaluator import Criteria, Evaluator, evaluator
from tracejury.otel import instrument, score
from tracejury.result import Failure, Outcome, Score, Skip, Spent, Verdict
from tracejury.trace import LLMCall, Message, Span, ToolCall, Trace

if TYPE_CHECKING:
    from tracejury.client import AsyncClient, Client

__all__ = [
    "AsyncClient",
    "Client",
    "Criteria",
    "Evaluator",
    "Failure",
    "LLMCall",
    "Message",
    "Outcome",
    "Score",
    "Skip",
    "Span",
    "Spent",
    "ToolCall",
    "Trace",
    "Verdict",
    "evaluator",
    "instrument",
    "score",
]


def __getattr__(name: str) -> Any:
    """Load a client at first use: an agent that is only instrumented needs no HTTP client."""
    if name in ("AsyncClient", "Client"):
        return getattr(import_module("tracejury.client"), name)
    raise AttributeError(f"module 'tracejury' has no attribute {name!r}")
