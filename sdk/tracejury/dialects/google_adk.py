"""Google Agent Development Kit, telemetry schemas 1 and 2.

Source: google-adk 1.5.0, 1.18.0, 1.28.0, 2.13.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EVENT,
    LEGACY,
    MARK,
    VENDOR,
    Dialect,
    KindRule,
    NameRule,
    added,
    attrs,
    event,
    inside,
)

_REQUEST = "gcp.vertex.agent.llm_request"
_RESPONSE = "gcp.vertex.agent.llm_response"
_RESULT = "gcp.vertex.agent.tool_response"
_USAGE = "usage_metadata."
_REASONING = "gen_ai.usage.experimental.reasoning_tokens"

DIALECT = Dialect(
    name="google_adk",
    label="Google ADK",
    source="google-adk 1.5.0 to 2.13.0",
    scopes=("gcp.vertex.agent",),
    prefixes=("gcp.vertex.agent.",),
    kinds=(
        KindRule(_REQUEST, MARK, {"{}": "step"}, always="llm"),
        KindRule("gcp.vertex.agent.tool_call_args", MARK, always="tool"),
    ),
    names=(
        NameRule(r"execute_tool \(merged.*\)", "step", overrides=True),
        NameRule(r"execute_tool transfer_to_agent", "handoff", overrides=True),
        NameRule(r"invocation", "workflow"),
        NameRule(r"call_llm", "llm"),
        NameRule(r"agent_run \[(.+)\]", "agent"),
    ),
    rules=(
        *attrs("session_id", LEGACY + 30, "gcp.vertex.agent.session_id"),
        *event("user_id", EVENT, "gen_ai.client.inference.operation.details", "user.id"),
        *event("user_id", EVENT, "gen_ai.user.message", "user.id"),
        *attrs("input", LEGACY + 30, _REQUEST),
        *attrs("output", LEGACY + 30, _RESPONSE),
        *inside("request_model", LEGACY, _REQUEST, "model"),
        *inside("tool_definitions", LEGACY, _REQUEST, "config.tools"),
        *attrs("tool_arguments", LEGACY - 50, "gcp.vertex.agent.tool_call_args", kinds="tool"),
        *attrs("tool_result", LEGACY - 50, _RESULT, kinds="tool"),
        *inside("failed", LEGACY, _RESULT, "status"),
        *inside("failure", LEGACY, _RESULT, "error", "error_details"),
        *inside("failure", CURRENT, "gen_ai.tool.call.result", "error", guard="sole"),
        *inside("failure", CURRENT + 1, "gen_ai.tool.call.result", "error_details"),
        # Of these, an attribute held the total up to 1.5, and lacked the thoughts up to 1.28.
        *added(
            "input_tokens",
            VENDOR,
            _RESPONSE,
            _USAGE + "prompt_token_count",
            _USAGE + "tool_use_prompt_token_count",
        ),
        *inside("output_tokens", VENDOR, _RESPONSE, _USAGE + "candidates_token_count"),
        *inside("cache_read_tokens", LEGACY, _RESPONSE, _USAGE + "cached_content_token_count"),
        *inside("total_tokens", LEGACY, _RESPONSE, _USAGE + "total_token_count"),
        *attrs("reasoning_tokens", CURRENT, _REASONING),
        *inside("reasoning_tokens", LEGACY, _RESPONSE, _USAGE + "thoughts_token_count"),
        *attrs("reasoning_apart", CURRENT, _REASONING),
        *inside("reasoning_apart", LEGACY, _RESPONSE, _USAGE + "thoughts_token_count"),
    ),
    not_providers=("gcp.vertex.agent",),
    known=(
        "gcp.vertex.agent.event_id",
        "gcp.vertex.agent.invocation_id",
        "gen_ai.workflow.nested",
    ),
    missing=(
        "Messages, arguments and results of tools are recorded only where content capture is "
        "on; schema 2 (since 2.0) leaves them out by default.",
        "With EVENT_ONLY the tool spans hold no arguments and results; they are taken from the "
        "messages of the next model call.",
        "The user's id stands only in log records with content, never in spans.",
    ),
    enable="""\
export OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental
export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
adk web --otel_to_cloud=false""",
)
