"""Sentry's AI monitoring.

Source: sentry-sdk 2.35 to 2.75 (its span data), exported as OTLP.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    LEGACY,
    OPERATION,
    Dialect,
    KindRule,
    Rule,
    Together,
    attrs,
)
from tracejury.trace import SpanKind

_OPERATIONS: Final[dict[str, SpanKind]] = {
    **dict.fromkeys(
        ("gen_ai.chat", "gen_ai.responses", "gen_ai.text_completion", "gen_ai.generate_text"), "llm"
    ),
    "gen_ai.embeddings": "embedding",
    "gen_ai.invoke_agent": "agent",
    "gen_ai.create_agent": "agent",
    "gen_ai.execute_tool": "tool",
    "gen_ai.handoff": "handoff",
    "gen_ai.evaluate": "evaluator",
    "mcp.server": "mcp",
}

DIALECT = Dialect(
    name="sentry",
    label="Sentry",
    source="sentry-sdk 2.75",
    prefixes=("sentry.",),
    kinds=(KindRule("sentry.op", OPERATION, _OPERATIONS),),
    rules=(
        *attrs("input", LEGACY + 44, "gen_ai.request.messages"),
        Rule(
            "output",
            Together(
                (
                    ("content", ("gen_ai.response.text",)),
                    ("tool_calls", ("gen_ai.response.tool_calls",)),
                )
            ),
            LEGACY + 44,
        ),
        *attrs("tool_definitions", LEGACY, "gen_ai.request.available_tools"),
        *attrs("tool_arguments", LEGACY + 1, "gen_ai.tool.input"),
        *attrs("tool_result", LEGACY, "gen_ai.tool.output"),
        *attrs("tool_result", LEGACY + 2, "mcp.tool.result.content"),
        *attrs("cache_read_tokens", CURRENT + 4, "gen_ai.usage.input_tokens.cached"),
        *attrs("cache_write_tokens", CURRENT + 8, "gen_ai.usage.input_tokens.cache_write"),
        *attrs("reasoning_tokens", CURRENT + 3, "gen_ai.usage.output_tokens.reasoning"),
    ),
    known=("sentry.", "thread."),
    missing=("Messages and tool calls are recorded only with `send_default_pii=True`.",),
    enable="""\
import sentry_sdk
sentry_sdk.init(send_default_pii=True, traces_sample_rate=1.0)
# Sentry's own spans go to Sentry; to send spans here as well, add an OTLP exporter:
# export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318""",
)
