"""Mastra.

Source: @mastra/otel-exporter.
"""

from __future__ import annotations

from tracejury.dialects.rules import EXPLICIT, LEGACY, Dialect, KindRule, attrs

_META = "mastra.metadata."
_SPANS = ("agent_run", "workflow_run", "model_generation", "model_step", "model_inference")

DIALECT = Dialect(
    name="mastra",
    scopes=("@mastra/",),
    prefixes=("mastra.",),
    kinds=(
        KindRule(
            "mastra.span.type",
            EXPLICIT,
            {
                "agent_run": "agent",
                "workflow_run": "workflow",
                "workflow_step": "step",
                "model_generation": "llm",
                "llm_generation": "llm",
                "model_step": "step",
                "model_inference": "llm",
                "tool_call": "tool",
                "mcp_tool_call": "tool",
            },
        ),
    ),
    rules=(
        *attrs("session_id", LEGACY + 45, _META + "sessionId", _META + "threadId"),
        *attrs("user_id", LEGACY + 45, _META + "userId"),
        *attrs("input", LEGACY + 74, *(f"mastra.{span}.input" for span in _SPANS)),
        *attrs("output", LEGACY + 74, *(f"mastra.{span}.output" for span in _SPANS)),
        *attrs("tool_arguments", LEGACY + 74, "mastra.tool_call.input", kinds="tool"),
        *attrs("tool_result", LEGACY + 74, "mastra.tool_call.output", kinds="tool"),
    ),
)
