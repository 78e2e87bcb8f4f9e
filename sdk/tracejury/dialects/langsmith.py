"""LangSmith's OpenTelemetry exporter.

Source: langsmith 0.15.
"""

from __future__ import annotations

from tracejury.dialects.rules import EXPLICIT, LEGACY, Dialect, KindRule, attrs

_META = "langsmith.metadata."

DIALECT = Dialect(
    name="langsmith",
    scopes=("langsmith",),
    prefixes=("langsmith.",),
    kinds=(
        KindRule(
            "langsmith.span.kind",
            EXPLICIT,
            {
                "llm": "llm",
                "chain": "workflow",
                "tool": "tool",
                "retriever": "retriever",
                "embedding": "embedding",
                "prompt": "prompt",
                "parser": "step",
            },
        ),
    ),
    rules=(
        *attrs(
            "session_id",
            LEGACY + 35,
            *(_META + key for key in ("session_id", "conversation_id", "thread_id")),
        ),
        *attrs("user_id", LEGACY + 35, _META + "user_id"),
        *attrs("agent_name", LEGACY + 35, _META + "lc_agent_name"),
        *attrs("provider", LEGACY + 35, _META + "ls_provider"),
        *attrs("request_model", LEGACY + 35, _META + "ls_model_name"),
        *attrs("tool_arguments", LEGACY + 35, "gen_ai.prompt", kinds="tool"),
        *attrs("tool_result", LEGACY + 35, "gen_ai.completion", kinds="tool"),
    ),
)
