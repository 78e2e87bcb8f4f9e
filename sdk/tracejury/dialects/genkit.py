"""Genkit.

Source: genkit 1.42.0 for JavaScript.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    EXPLICIT,
    VENDOR,
    Dialect,
    KindRule,
    added,
    attrs,
    inside,
)
from tracejury.trace import SpanKind

_KINDS: Final[dict[str, SpanKind]] = {
    "model": "llm",
    "background-model": "llm",
    "tool": "tool",
    "tool.v2": "tool",
    "flow": "workflow",
    "agent": "agent",
    "prompt": "step",
    "executable-prompt": "step",
    "retriever": "retriever",
    "reranker": "reranker",
    "embedder": "embedding",
    "evaluator": "evaluator",
}
_IN: Final = "genkit:input"
_OUT: Final = "genkit:output"

DIALECT = Dialect(
    name="genkit",
    label="Genkit",
    source="genkit 1.42.0",
    scopes=("genkit",),
    prefixes=("genkit:",),
    kinds=(
        KindRule("genkit:metadata:subtype", EXPLICIT + 1, _KINDS),
        KindRule("genkit:type", EXPLICIT + 1, {"util": "workflow", "flow": "workflow"}),
    ),
    rules=(
        *attrs("session_id", VENDOR + 70, "genkit:sessionId"),
        *attrs("input", VENDOR + 70, _IN, guard="quoted"),
        *attrs("output", VENDOR + 70, _OUT, guard="quoted"),
        *attrs("tool_name", VENDOR + 70, "genkit:name", kinds="tool"),
        *attrs("tool_arguments", VENDOR + 70, _IN, kinds="tool", guard="quoted"),
        *attrs("tool_result", VENDOR + 70, _OUT, kinds="tool", guard="quoted"),
        *attrs("agent_name", VENDOR + 70, "genkit:name", kinds="agent"),
        # A model is named by its plugin and its own name: `openai/gpt-4o`.
        *attrs("request_model", VENDOR + 70, "genkit:name", kinds="llm", guard="unprefixed"),
        *inside("model", VENDOR + 70, _OUT, "raw.model", "custom.modelVersion", kinds="llm"),
        *attrs("model", VENDOR + 71, "genkit:name", kinds="llm embedding", guard="unprefixed"),
        *inside("tool_definitions", VENDOR + 70, _IN, "tools", kinds="llm"),
        *inside("params", VENDOR + 70, _IN, "config", kinds="llm"),
        *inside("finish_reasons", VENDOR + 70, _OUT, "finishReason", kinds="llm"),
        *inside("response_id", VENDOR + 70, _OUT, "raw.id", "custom.responseId", kinds="llm"),
        *inside("input_tokens", VENDOR + 70, _OUT, "usage.inputTokens", kinds="llm"),
        *added(
            "output_tokens",
            VENDOR + 70,
            _OUT,
            "usage.outputTokens",
            "usage.thoughtsTokens",
            kinds="llm",
        ),
        *inside("total_tokens", VENDOR + 70, _OUT, "usage.totalTokens", kinds="llm"),
        *inside("reasoning_tokens", VENDOR + 70, _OUT, "usage.thoughtsTokens", kinds="llm"),
        *inside("cache_read_tokens", VENDOR + 70, _OUT, "usage.cachedContentTokens", kinds="llm"),
        *inside("query", VENDOR + 70, _IN, "query", kinds="retriever reranker"),
        *inside("documents", VENDOR + 70, _OUT, "documents", kinds="retriever reranker"),
    ),
    known=("genkit:",),
    missing=(
        "The ids of tool calls stand only in the messages.",
        "Sessions and users are recorded only where the program says so.",
    ),
    enable="""\
import { enableTelemetry } from "genkit/tracing";
enableTelemetry({ spanProcessors: [new BatchSpanProcessor(
  new OTLPTraceExporter({ url: "http://127.0.0.1:4318/v1/traces" }))] });""",
)
