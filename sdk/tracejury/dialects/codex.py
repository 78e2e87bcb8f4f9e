"""Codex CLI.

Source: @openai/codex 0.169.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EVENT,
    GENERIC,
    MARK,
    Dialect,
    KindRule,
    NameRule,
    Recorded,
    attrs,
    event,
)

_TURN = "codex.turn.token_usage."

DIALECT = Dialect(
    name="codex",
    label="Codex CLI",
    source="@openai/codex 0.169.0",
    scopes=("codex",),
    prefixes=("codex.",),
    services=("codex",),
    # The one span of a reply that tells its usage, inside the request that names the model.
    kinds=(KindRule("codex.usage.total_tokens", MARK, always="llm"),),
    names=(
        NameRule(r"codex\.turn_input", "agent"),
        NameRule(r"run_sampling_request", "llm"),
        # Internals that name the tool they work for.
        NameRule(r"handle_responses|guardian_scoring_observation", "step", overrides=True),
    ),
    rules=(
        *event("input", EVENT + 60, "codex.user_prompt", "prompt", kinds="agent"),
        *event("tool_arguments", EVENT + 60, "codex.tool_result", "arguments", kinds="tool"),
        *event("tool_result", EVENT + 60, "codex.tool_result", "output", kinds="tool"),
        *event("succeeded", EVENT + 60, "codex.tool_result", "success", kinds="tool"),
        *attrs("reasoning_tokens", CURRENT + 60, "codex.usage.reasoning_output_tokens"),
        *attrs("total_tokens", CURRENT + 60, "codex.usage.total_tokens"),
        # The sums of a turn: for traces that lost the replies' own spans.
        *attrs("input_tokens", GENERIC + 60, _TURN + "input_tokens"),
        *attrs("output_tokens", GENERIC + 60, _TURN + "output_tokens"),
        *attrs("cache_read_tokens", GENERIC + 60, _TURN + "cached_input_tokens"),
        *attrs("cache_write_tokens", GENERIC + 60, _TURN + "cache_write_input_tokens"),
        *attrs("reasoning_tokens", GENERIC + 60, _TURN + "reasoning_output_tokens"),
        *attrs("total_tokens", GENERIC + 60, _TURN + "total_tokens"),
    ),
    records=(
        Recorded(event="codex.user_prompt", kind="agent", joins="conversation.id"),
        Recorded(
            event="codex.tool_result", kind="tool", duration_ms="duration_ms", joins="call_id"
        ),
        Recorded(event="codex.sse_event", kind="llm", duration_ms="duration_ms"),
    ),
    known=("codex.", "app_server.", "turn.", "auth.", "event otel/", "wire_api", "tool_source"),
    missing=(
        "The model's answers are not recorded.",
        "The tools' arguments and outputs and the prompts stand in logs: export logs as well.",
        "Prompts are recorded only with `log_user_prompt = true`.",
    ),
    enable="""\
# ~/.codex/config.toml
[otel]
log_user_prompt = true
[otel.exporter.otlp-http]
endpoint = "http://127.0.0.1:4318/v1/logs"
protocol = "binary"
[otel.trace_exporter.otlp-http]
endpoint = "http://127.0.0.1:4318/v1/traces"
protocol = "binary"
""",
)
