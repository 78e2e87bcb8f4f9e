"""Langfuse SDK 3 to 5.

Source: langfuse-python 5.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    LEGACY,
    VENDOR,
    Dialect,
    KindRule,
    attrs,
    inside,
)

_USAGE = "langfuse.observation.usage_details"

DIALECT = Dialect(
    name="langfuse",
    scopes=("langfuse",),
    prefixes=("langfuse.",),
    kinds=(
        KindRule(
            "langfuse.observation.type",
            EXPLICIT,
            {
                "generation": "llm",
                "agent": "agent",
                "tool": "tool",
                "chain": "workflow",
                "retriever": "retriever",
                "embedding": "embedding",
                "evaluator": "evaluator",
                "guardrail": "guardrail",
                "event": "event",
            },
        ),
    ),
    rules=(
        *attrs("session_id", LEGACY + 5, "langfuse.session.id"),
        *attrs("user_id", LEGACY + 5, "langfuse.user.id"),
        *attrs("model", VENDOR, "langfuse.observation.model.name"),
        *attrs("input", VENDOR, "langfuse.observation.input"),
        *attrs("output", VENDOR, "langfuse.observation.output"),
        *attrs("input", LEGACY + 95, "langfuse.trace.input"),
        *attrs("output", LEGACY + 95, "langfuse.trace.output"),
        *attrs("tool_arguments", VENDOR, "langfuse.observation.input", kinds="tool"),
        *attrs("tool_result", VENDOR, "langfuse.observation.output", kinds="tool"),
        *attrs("query", VENDOR, "langfuse.observation.input", kinds="retriever"),
        *attrs("documents", VENDOR, "langfuse.observation.output", kinds="retriever"),
        *inside("input_tokens", VENDOR, _USAGE, "prompt_tokens", "input_tokens", "input"),
        *inside("output_tokens", VENDOR, _USAGE, "completion_tokens", "output_tokens", "output"),
        *inside("total_tokens", VENDOR, _USAGE, "total_tokens", "total"),
        *inside(
            "cache_read_tokens",
            VENDOR,
            _USAGE,
            "prompt_tokens_details.cached_tokens",
            "input_cached_tokens",
            "cache_read_input_tokens",
        ),
        *inside(
            "reasoning_tokens",
            VENDOR,
            _USAGE,
            "completion_tokens_details.reasoning_tokens",
            "output_reasoning_tokens",
        ),
        *inside("cost_usd", VENDOR, "langfuse.observation.cost_details", "total"),
        *attrs("params", CURRENT + 20, "langfuse.observation.model.parameters"),
        *attrs("error_message", CURRENT + 5, "langfuse.observation.status_message"),
    ),
)
