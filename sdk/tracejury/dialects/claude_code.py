"""Claude Code.

Source: @anthropic-ai/claude-code 2.1.197, plain and with detailed beta tracing.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    EVENT,
    GENERIC,
    MARK,
    VENDOR,
    CacheRule,
    Dialect,
    KindRule,
    NameRule,
    Recorded,
    Rule,
    Together,
    attrs,
    event,
)
from tracejury.trace import SpanKind

_KINDS: Final[dict[str, SpanKind]] = {
    "interaction": "agent",
    "llm_request": "llm",
    "tool": "tool",
    "tool.execution": "tool",
    "tool.blocked_on_user": "step",
    "hook": "step",
}

DIALECT = Dialect(
    name="claude_code",
    label="Claude Code",
    source="@anthropic-ai/claude-code 2.1.197",
    scopes=("com.anthropic.claude_code",),
    prefixes=("claude_code.",),
    services=("claude-code",),
    kinds=(KindRule("span.type", MARK, _KINDS),),
    names=(
        NameRule(r"claude_code\.interaction", "agent"),
        NameRule(r"claude_code\.llm_request", "llm"),
        NameRule(r"claude_code\.tool\.blocked_on_user", "step", overrides=True),
    ),
    rules=(
        *attrs("input", VENDOR + 60, "user_prompt"),
        *attrs("output", VENDOR + 60, "response.model_output", kinds="llm"),
        # Each answer of the model is logged beside the interaction: the last one stands.
        *event("output", EVENT + 60, "assistant_response", "response", kinds="agent"),
        # What a tool was given is logged; detailed tracing and, in part, the span hold it as well.
        *event("tool_arguments", VENDOR + 60, "tool_result", "tool_input", kinds="tool"),
        *attrs("tool_arguments", VENDOR + 61, "tool_input", kinds="tool", guard="headed"),
        Rule(
            "tool_arguments",
            Together((("command", ("full_command",)), ("file_path", ("file_path",))), role=""),
            GENERIC + 60,
            frozenset({"tool"}),
        ),
        *event("tool_result", VENDOR + 60, "tool.output", "output", kinds="tool"),
        *event("tool_result", VENDOR + 61, "tool.output", "content", kinds="tool"),
        *event("tool_result", VENDOR + 62, "tool.output", "diff", kinds="tool"),
        *attrs("tool_result", VENDOR + 63, "new_context", kinds="tool", guard="headed"),
        *event("succeeded", EVENT + 60, "tool_result", "success", kinds="tool"),
        *event("error_message", EVENT + 60, "tool_result", "error", kinds="tool"),
        *attrs("error_message", GENERIC + 60, "error", kinds="tool llm"),
        *attrs("finish_reasons", CURRENT + 60, "stop_reason", kinds="llm"),
        *attrs("ttft_ms", CURRENT + 60, "ttft_ms", kinds="llm"),
    ),
    cache=(CacheRule(basis="exclusive", scopes=("com.anthropic.claude_code",)),),
    records=(
        Recorded(event="tool_result", kind="tool", duration_ms="duration_ms", joins="tool_use_id"),
    ),
    waits=(r"claude_code\.tool\.blocked_on_user",),
    known=(
        *("interaction.", "llm_request.", "user_prompt_length", "new_context", "query_source"),
        *("system_prompt_", "system_reminders", "tools", "response.has_tool_call", "duration_ms"),
        *("tool_decision", "api_request", "user_prompt", "gen_ai.request.attempt", "full_command"),
    ),
    missing=(
        "Prompts, answers, and the tools' arguments and outputs are recorded only where each of "
        "the four switches is set.",
        "The messages sent to the model are not recorded.",
        "Outputs of MCP tools are recorded only by detailed beta tracing.",
        "The tools' full arguments and the answers stand in logs: export logs as well.",
    ),
    enable="""\
export CLAUDE_CODE_ENABLE_TELEMETRY=1 CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1
export OTEL_TRACES_EXPORTER=otlp OTEL_LOGS_EXPORTER=otlp
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export OTEL_LOG_USER_PROMPTS=1 OTEL_LOG_ASSISTANT_RESPONSES=1
export OTEL_LOG_TOOL_DETAILS=1 OTEL_LOG_TOOL_CONTENT=1
# more: outputs of MCP tools and the model's answers on the spans
export ENABLE_BETA_TRACING_DETAILED=1 BETA_TRACING_ENDPOINT=http://127.0.0.1:4318""",
)
