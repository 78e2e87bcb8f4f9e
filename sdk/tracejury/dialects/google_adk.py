"""Google Agent Development Kit, telemetry schemas 1 and 2.

Source: google-adk 2.13.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    LEGACY,
    MARK,
    Dialect,
    KindRule,
    NameRule,
    attrs,
    inside,
)

_RESPONSE = "gcp.vertex.agent.llm_response"
_RESULT = "gcp.vertex.agent.tool_response"

DIALECT = Dialect(
    name="google_adk",
    scopes=("gcp.vertex.agent",),
    prefixes=("gcp.vertex.agent.",),
    kinds=(
        KindRule("gcp.vertex.agent.llm_request", MARK, {"{}": "step"}, always="llm"),
        KindRule("gcp.vertex.agent.tool_call_args", MARK, always="tool"),
    ),
    names=(
        NameRule(r"execute_tool \(merged.*\)", "step", overrides=True),
        NameRule(r"execute_tool transfer_to_agent", "handoff", overrides=True),
        NameRule(r"invocation", "workflow"),
        NameRule(r"call_llm", "llm"),
    ),
    rules=(
        *attrs("session_id", LEGACY + 30, "gcp.vertex.agent.session_id"),
        *attrs("input", LEGACY + 30, "gcp.vertex.agent.llm_request"),
        *attrs("output", LEGACY + 30, _RESPONSE),
        *inside("request_model", LEGACY, "gcp.vertex.agent.llm_request", "model"),
        *attrs("tool_arguments", LEGACY - 50, "gcp.vertex.agent.tool_call_args", kinds="tool"),
        *attrs("tool_result", LEGACY - 50, _RESULT, kinds="tool"),
        *inside("failed", LEGACY, _RESULT, "error", "status"),
        *inside("input_tokens", LEGACY, _RESPONSE, "usage_metadata.prompt_token_count"),
        *inside("output_tokens", LEGACY, _RESPONSE, "usage_metadata.candidates_token_count"),
        *inside("total_tokens", LEGACY, _RESPONSE, "usage_metadata.total_token_count"),
    ),
    not_providers=("gcp.vertex.agent",),
)
