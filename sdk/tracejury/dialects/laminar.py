"""Laminar.

Source: lmnr 0.8.
"""

from __future__ import annotations

from tracejury.dialects.rules import EXPLICIT, LEGACY, VENDOR, Dialect, KindRule, attrs

_PROPERTIES = "lmnr.association.properties."

DIALECT = Dialect(
    name="laminar",
    scopes=("lmnr",),
    prefixes=("lmnr.",),
    kinds=(
        KindRule(
            "lmnr.span.type",
            EXPLICIT,
            {
                "LLM": "llm",
                "TOOL": "tool",
                "CACHED": "llm",
                "PIPELINE": "workflow",
                "EXECUTOR": "step",
                "EVALUATOR": "evaluator",
                "HUMAN_EVALUATOR": "evaluator",
                "EVALUATION": "evaluator",
            },
        ),
    ),
    rules=(
        *attrs("session_id", LEGACY + 8, _PROPERTIES + "session_id"),
        *attrs("user_id", LEGACY + 8, _PROPERTIES + "user_id"),
        *attrs("input", LEGACY + 70, "lmnr.span.input", guard="quoted"),
        *attrs("output", LEGACY + 70, "lmnr.span.output", guard="quoted"),
        *attrs("tool_arguments", VENDOR, "lmnr.span.input", kinds="tool", guard="quoted"),
        *attrs("tool_result", VENDOR, "lmnr.span.output", kinds="tool", guard="quoted"),
    ),
)
