"""Vercel AI SDK 3 to 6.

Source: ai 4.3, 5.0 and 6.0.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    LEGACY,
    MARK,
    Dialect,
    KindRule,
    Rule,
    Together,
    attrs,
)
from tracejury.trace import SpanKind

_META = "ai.telemetry.metadata."
_CALLS = ("generateText", "streamText", "generateObject", "streamObject")
_KINDS: Final[dict[str, SpanKind]] = {
    **dict.fromkeys((f"ai.{call}" for call in _CALLS), "workflow"),
    **dict.fromkeys((f"ai.{call}.doGenerate" for call in _CALLS), "llm"),
    **dict.fromkeys((f"ai.{call}.doStream" for call in _CALLS), "llm"),
    "ai.toolCall": "tool",
    "ai.embed.doEmbed": "embedding",
    "ai.embedMany.doEmbed": "embedding",
    "ai.rerank.doRerank": "reranker",
}

DIALECT = Dialect(
    name="vercel_ai",
    prefixes=("ai.operationId", "ai.toolCall.", "ai.telemetry."),
    kinds=(KindRule("ai.operationId", MARK, _KINDS, always="workflow"),),
    rules=(
        *attrs(
            "session_id",
            LEGACY + 15,
            *(_META + key for key in ("sessionId", "session_id", "threadId", "chatId")),
        ),
        *attrs("user_id", LEGACY + 15, _META + "userId", _META + "user_id"),
        *attrs("agent_name", LEGACY + 15, "ai.telemetry.functionId"),
        *attrs("provider", CURRENT + 30, "ai.model.provider"),
        *attrs("model", CURRENT + 30, "ai.response.model"),
        *attrs("model", CURRENT + 90, "ai.model.id"),
        *attrs("request_model", CURRENT + 30, "ai.model.id"),
        *attrs("input", LEGACY + 10, "ai.prompt.messages", "ai.prompt"),
        Rule(
            "output",
            Together(
                (
                    ("content", ("ai.response.text", "ai.response.object")),
                    ("tool_calls", ("ai.response.toolCalls",)),
                    ("finish_reason", ("ai.response.finishReason",)),
                )
            ),
            LEGACY + 10,
        ),
        *attrs("tool_definitions", LEGACY + 15, "ai.prompt.tools"),
        *attrs("tool_name", CURRENT + 5, "ai.toolCall.name"),
        *attrs("tool_call_id", CURRENT + 5, "ai.toolCall.id"),
        *attrs("tool_arguments", CURRENT + 5, "ai.toolCall.args", guard="quoted"),
        *attrs("tool_result", CURRENT + 5, "ai.toolCall.result", guard="quoted"),
        *attrs(
            "input_tokens",
            CURRENT + 30,
            "ai.usage.inputTokens",
            "ai.usage.promptTokens",
            "ai.usage.tokens",
        ),
        *attrs("output_tokens", CURRENT + 30, "ai.usage.outputTokens", "ai.usage.completionTokens"),
        *attrs("total_tokens", CURRENT + 30, "ai.usage.totalTokens"),
        *attrs(
            "cache_read_tokens",
            CURRENT + 30,
            "ai.usage.inputTokenDetails.cacheReadTokens",
            "ai.usage.cachedInputTokens",
        ),
        *attrs("cache_write_tokens", CURRENT + 30, "ai.usage.inputTokenDetails.cacheWriteTokens"),
        *attrs(
            "reasoning_tokens",
            CURRENT + 30,
            "ai.usage.outputTokenDetails.reasoningTokens",
            "ai.usage.reasoningTokens",
        ),
        *attrs("response_id", CURRENT + 30, "ai.response.id"),
        *attrs("finish_reasons", CURRENT + 30, "ai.response.finishReason"),
        *attrs("ttft_ms", CURRENT, "ai.response.msToFirstChunk"),
    ),
)
