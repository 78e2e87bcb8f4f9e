"""What spans of no known dialect share: common names for sessions, users, input and output."""

from __future__ import annotations

from typing import get_args

from tracejury.dialects.rules import (
    CURRENT,
    GENERIC,
    LEGACY,
    MARK,
    Dialect,
    EventKey,
    KindRule,
    Rule,
    attrs,
)
from tracejury.trace import SpanKind

_IDS = (
    "session_id",
    "sessionId",
    "conversation_id",
    "conversation.id",
    "conversationId",
    "thread_id",
    "threadId",
)

DIALECT = Dialect(
    name="generic",
    label="Any other",
    source="names that libraries of no table share",
    kinds=(
        KindRule("tracejury.span.kind", 0, {kind: kind for kind in get_args(SpanKind)}),
        KindRule("gen_ai.tool.name", MARK + 10, always="tool"),
        KindRule("gen_ai.tool.call.id", MARK + 10, always="tool"),
        KindRule("tool.name", MARK + 10, always="tool"),
        KindRule("tool_name", MARK + 10, always="tool"),
    ),
    rules=(
        *attrs("session_id", LEGACY + 20, *_IDS),
        *attrs("user_id", LEGACY + 20, "enduser.id", "user_id", "userId", "llm.user"),
        *attrs("agent_name", LEGACY + 30, "agent_name", "agent"),
        *attrs("model", GENERIC, "model_name", "model", kinds="llm embedding reranker"),
        *attrs("provider", GENERIC, "provider", kinds="llm embedding reranker"),
        *attrs("input", GENERIC + 10, "input", "prompt", "question", "query"),
        *attrs("output", GENERIC + 10, "output", "completion", "answer", "result"),
        *attrs("tool_name", GENERIC, "tool_name", "function.name", kinds="tool"),
        *attrs("tool_call_id", GENERIC, "tool_use_id", "call_id", kinds="tool"),
        *attrs("tool_arguments", GENERIC + 10, "input", "arguments", "args", kinds="tool"),
        *attrs("tool_result", GENERIC + 10, "output", "result", kinds="tool"),
        *attrs("input_tokens", GENERIC, "input_tokens", "input_token_count", "prompt_tokens"),
        *attrs(
            "output_tokens", GENERIC, "output_tokens", "output_token_count", "completion_tokens"
        ),
        *attrs("total_tokens", GENERIC, "total_tokens"),
        *attrs("cache_read_tokens", GENERIC, "cache_read_tokens", "cached_token_count"),
        *attrs("cache_write_tokens", GENERIC, "cache_creation_tokens"),
        *attrs("reasoning_tokens", GENERIC, "reasoning_token_count", "thoughts_token_count"),
        *attrs("cost_usd", GENERIC, "cost_usd"),
        *attrs("error_type", CURRENT, "error.type"),
        Rule("error_type", EventKey("exception", "exception.type"), CURRENT + 1),
        Rule("error_message", EventKey("exception", "exception.message"), CURRENT),
        *attrs("error_message", CURRENT + 1, "error.message", "exception.message"),
        *attrs("failed", GENERIC, "is_error", kinds="tool"),
        *attrs("succeeded", GENERIC, "success", kinds="tool"),
        *attrs("redacted", CURRENT, "tracejury.redacted"),
        *attrs("query", GENERIC + 10, "input", "query", kinds="retriever reranker"),
        *attrs("documents", GENERIC + 10, "output", kinds="retriever"),
    ),
    missing=(
        "Only names that many libraries share are read; `tracejury dialects` shows what is left "
        "unread of a framework without a table.",
    ),
    enable="""\
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
# and name the fields of your own framework in a YAML file: see custom-dialects.md""",
    # What instrumentations of many names write, and what tells how a call was set up.
    known=(
        *("input.mime_type", "output.mime_type", "llm.token_count.prompt_details.audio"),
        *("llm.token_count.completion_details.audio", "tool.description", "tool.cache_function"),
        *("tool.current_usage_count", "tool.result_as_answer", "openai.response."),
        *("anthropic.response.", "crew_agents", "crew_inputs", "smolagents.tools_names"),
        *("agno.", "haystack.tool.description"),
    ),
)
