"""Vercel AI SDK 3 to 7, with `LegacyOpenTelemetry` and `OpenTelemetry` of @ai-sdk/otel in 7.

Source: ai 3.4.33, 4.3.19, 5.0.277, 6.0.326, 7.0.173 and @ai-sdk/otel 1.0.173.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    LEGACY,
    MARK,
    CacheRule,
    Dialect,
    KindRule,
    Rule,
    Together,
    added,
    attrs,
    inside,
)
from tracejury.trace import SpanKind

# What the caller says about a run: as metadata (3 to 6), as runtime context (7).
_SAID: Final = ("ai.telemetry.metadata.", "ai.settings.context.")
_SESSIONS: Final = (
    *("sessionId", "session_id", "threadId", "thread_id", "chatId", "chat_id"),
    *("conversationId", "conversation_id"),
)
_RAW: Final = "ai.response.providerMetadata"
_CALLS: Final = ("generateText", "streamText", "generateObject", "streamObject")
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
    label="Vercel AI SDK",
    source="ai 3.4.33, 4.3.19, 5.0.277, 6.0.326, 7.0.173 and @ai-sdk/otel 1.0.173",
    scopes=("gen_ai",),
    prefixes=("ai.operationId", "ai.toolCall.", "ai.telemetry.", "ai.settings."),
    kinds=(KindRule("ai.operationId", MARK, _KINDS, always="workflow"),),
    rules=(
        *attrs("session_id", LEGACY + 15, *(said + key for key in _SESSIONS for said in _SAID)),
        *attrs(
            "user_id", LEGACY + 15, *(said + key for key in ("userId", "user_id") for said in _SAID)
        ),
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
                    (
                        "content",
                        (
                            *("ai.response.text", "ai.response.object"),
                            *("ai.result.text", "ai.result.object"),
                        ),
                    ),
                    ("tool_calls", ("ai.response.toolCalls", "ai.result.toolCalls")),
                    ("finish_reason", ("ai.response.finishReason", "ai.finishReason")),
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
        # Before 6 the tokens of Google's thoughts stand only in what the provider itself said.
        *added(
            "output_tokens",
            CURRENT - 5,
            _RAW,
            "google.usageMetadata.candidatesTokenCount",
            "google.usageMetadata.thoughtsTokenCount",
        ),
        *attrs("output_tokens", CURRENT + 30, "ai.usage.outputTokens", "ai.usage.completionTokens"),
        *attrs("total_tokens", CURRENT + 30, "ai.usage.totalTokens"),
        *attrs(
            "cache_read_tokens",
            CURRENT + 30,
            "ai.usage.inputTokenDetails.cacheReadTokens",
            "ai.usage.cachedInputTokens",
        ),
        *inside(
            "cache_read_tokens",
            CURRENT + 35,
            _RAW,
            "anthropic.cacheReadInputTokens",
            "anthropic.usage.cache_read_input_tokens",
            "bedrock.usage.cacheReadInputTokens",
            "openai.cachedPromptTokens",
            "google.usageMetadata.cachedContentTokenCount",
        ),
        *attrs("cache_write_tokens", CURRENT + 30, "ai.usage.inputTokenDetails.cacheWriteTokens"),
        *inside(
            "cache_write_tokens",
            CURRENT + 35,
            _RAW,
            "anthropic.cacheCreationInputTokens",
            "anthropic.usage.cache_creation_input_tokens",
            "bedrock.usage.cacheWriteInputTokens",
        ),
        *attrs(
            "reasoning_tokens",
            CURRENT + 30,
            "ai.usage.outputTokenDetails.reasoningTokens",
            "ai.usage.reasoningTokens",
        ),
        *inside(
            "reasoning_tokens",
            CURRENT + 35,
            _RAW,
            "openai.reasoningTokens",
            "google.usageMetadata.thoughtsTokenCount",
        ),
        *attrs("response_id", CURRENT + 30, "ai.response.id"),
        *attrs("finish_reasons", CURRENT + 30, "ai.response.finishReason", "ai.finishReason"),
        *attrs("ttft_ms", CURRENT, "ai.response.msToFirstChunk"),
        *attrs("ttft_s", CURRENT + 30, "gen_ai.client.operation.time_to_first_chunk"),
    ),
    cache=(
        CacheRule(basis="inclusive", scopes=("gen_ai",)),
        CacheRule(
            basis="inclusive",
            present=("ai.operationId", "ai.usage.inputTokenDetails.cacheReadTokens"),
        ),
        CacheRule(
            basis="exclusive",
            present=("ai.operationId",),
            absent=("ai.usage.inputTokenDetails.cacheReadTokens",),
            providers=("anthropic", "vertex.anthropic", "amazon-bedrock", "bedrock"),
        ),
    ),
    known=(
        *("ai.settings.", "ai.request.", "ai.telemetry.metadata.", "ai.schema", "ai.stream."),
        *("ai.prompt.format", "ai.prompt.toolChoice", "ai.value", "ai.embedding"),
        *("ai.response.timestamp", "ai.response.msToFinish", "ai.response.avg"),
        *("ai.usage.inputTokenDetails.", "ai.usage.outputTokenDetails."),
        *("gen_ai.client.operation.", "gen_ai.execute_tool."),
    ),
    missing=(
        "Nothing is recorded unless telemetry is enabled for the call (until 6) or an integration "
        "is registered (7).",
        "Before 6 the tokens written to Anthropic's cache stand only in the provider's metadata.",
        "In 7 sessions and users are recorded only as runtime context, and only if both the call "
        "and the integration say so.",
    ),
    enable="""\
// ai 3 to 6: in every call
experimental_telemetry: { isEnabled: true, functionId: "my-agent", metadata: { sessionId, userId } }
// ai 7: once
registerTelemetry(new OpenTelemetry({ runtimeContext: true, usage: true }))
// and in every call
telemetry: { functionId: "my-agent", includeRuntimeContext: { sessionId: true, userId: true } },
runtimeContext: { sessionId, userId }
// shell
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318""",
)
