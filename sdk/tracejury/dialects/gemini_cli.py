"""Gemini CLI.

Source: @google/gemini-cli 0.61.0.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    GENERIC,
    OPERATION,
    VENDOR,
    Dialect,
    KindRule,
    attrs,
    inside,
)
from tracejury.trace import SpanKind

_KINDS: Final[dict[str, SpanKind]] = {
    "llm_call": "llm",
    "tool_call": "tool",
    "agent_call": "agent",
    "user_prompt": "agent",
    "schedule_tool_calls": "step",
    "system_prompt": "step",
}
_REPLY = "response.responseParts.0.functionResponse.response"

DIALECT = Dialect(
    name="gemini_cli",
    label="Gemini CLI",
    source="@google/gemini-cli 0.61.0",
    scopes=("gemini-cli",),
    prefixes=("gemini_cli.",),
    services=("gemini-cli",),
    kinds=(KindRule("gen_ai.operation.name", OPERATION, _KINDS),),
    rules=(
        *attrs("tool_call_id", CURRENT + 60, "gen_ai.tool.call_id"),
        *inside("tool_arguments", GENERIC + 60, "gen_ai.input.messages", "args", kinds="tool"),
        *inside(
            "tool_result",
            GENERIC + 60,
            "gen_ai.output.messages",
            f"{_REPLY}.output",
            f"{_REPLY}.error",
            _REPLY,
            "response.resultDisplay",
            kinds="tool",
        ),
        *inside("failed", VENDOR + 60, "gen_ai.output.messages", "status", kinds="tool"),
        *inside(
            "error_message",
            VENDOR + 60,
            "gen_ai.output.messages",
            "response.error.message",
            f"{_REPLY}.error",
            kinds="tool",
        ),
    ),
    known=("gemini_cli.", "gen_ai.prompt.name", "gen_ai.agent.description"),
    runs_apart=True,
    missing=(
        "Without a terminal each model call and each round of tools is a trace of its own, "
        "tied only by the session.",
        "The tokens of thoughts and of the cache are not recorded on spans.",
        "Attributes longer than 10 000 characters are cut.",
    ),
    enable="""\
# ~/.gemini/settings.json
{"telemetry": {"enabled": true, "traces": true, "target": "local", "logPrompts": true,
  "otlpProtocol": "http", "otlpEndpoint": "http://127.0.0.1:4318"}}""",
)
