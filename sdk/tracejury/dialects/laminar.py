"""Laminar.

Source: lmnr 0.8.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    EXPLICIT,
    LEGACY,
    VENDOR,
    CacheRule,
    Dialect,
    KindRule,
    NameRule,
    attrs,
)

_TALK = "agent llm workflow retriever reranker embedding guardrail evaluator tool unknown"
_PROPERTIES = "lmnr.association.properties."

DIALECT = Dialect(
    name="laminar",
    label="Laminar",
    source="lmnr 0.8",
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
    names=(NameRule(r"agents\.(?:task|turn)", "step"),),
    rules=(
        *attrs("session_id", LEGACY + 8, _PROPERTIES + "session_id"),
        *attrs("user_id", LEGACY + 8, _PROPERTIES + "user_id"),
        # A step's input and output are what its framework says about it, and no messages.
        *attrs("input", LEGACY + 70, "lmnr.span.input", kinds=_TALK, guard="quoted"),
        *attrs("output", LEGACY + 70, "lmnr.span.output", kinds=_TALK, guard="quoted"),
        *attrs("tool_arguments", VENDOR, "lmnr.span.input", kinds="tool", guard="quoted"),
        *attrs("tool_result", VENDOR, "lmnr.span.output", kinds="tool", guard="quoted"),
    ),
    cache=(CacheRule(basis="inclusive", scopes=("lmnr",)),),
    known=("lmnr.", "llm.headers", "openai.agents."),
    missing=(
        "A function traced with a plain `observe()` has no kind: a tool among them is recognized "
        'by the model\'s request for it, or say `observe(span_type="TOOL")`.',
    ),
    enable="""\
# Laminar sends to one address; name this one:
from lmnr import Laminar

Laminar.initialize(
    project_api_key="unused", base_url="http://127.0.0.1", http_port=4318, force_http=True
)
""",
)
