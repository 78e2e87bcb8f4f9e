"""MLflow Tracing; every value is JSON.

Source: mlflow-skinny 3.17.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    LEGACY,
    VENDOR,
    Dialect,
    KindRule,
    attrs,
    inside,
)

_USAGE = "mlflow.chat.tokenUsage"

DIALECT = Dialect(
    name="mlflow",
    scopes=("mlflow.",),
    prefixes=("mlflow.",),
    kinds=(
        KindRule(
            "mlflow.spanType",
            EXPLICIT,
            {
                "llm": "llm",
                "chat_model": "llm",
                "agent": "agent",
                "tool": "tool",
                "retriever": "retriever",
                "embedding": "embedding",
                "reranker": "reranker",
                "chain": "workflow",
                "workflow": "workflow",
                "task": "step",
                "parser": "step",
                "memory": "memory",
                "guardrail": "guardrail",
                "evaluator": "evaluator",
            },
        ),
    ),
    rules=(
        *attrs("session_id", LEGACY + 40, "mlflow.trace.session", guard="quoted"),
        *attrs("user_id", LEGACY + 40, "mlflow.trace.user", guard="quoted"),
        *attrs("model", CURRENT + 40, "mlflow.llm.model", guard="quoted"),
        *attrs("provider", CURRENT + 40, "mlflow.llm.provider", guard="quoted"),
        *inside("request_model", CURRENT + 40, "mlflow.spanInputs", "model", kinds="llm"),
        *attrs("input", LEGACY + 72, "mlflow.spanInputs", guard="quoted"),
        *attrs("output", LEGACY + 72, "mlflow.spanOutputs", guard="quoted"),
        *attrs("tool_name", CURRENT + 40, "mlflow.spanFunctionName", kinds="tool", guard="quoted"),
        *attrs("tool_arguments", VENDOR, "mlflow.spanInputs", kinds="tool", guard="quoted"),
        *attrs("tool_result", VENDOR, "mlflow.spanOutputs", kinds="tool", guard="quoted"),
        *attrs("tool_definitions", LEGACY + 40, "mlflow.chat.tools"),
        *inside("input_tokens", CURRENT + 40, _USAGE, "input_tokens"),
        *inside("output_tokens", CURRENT + 40, _USAGE, "output_tokens"),
        *inside("total_tokens", CURRENT + 40, _USAGE, "total_tokens"),
        *inside("cache_read_tokens", CURRENT + 40, _USAGE, "cache_read_input_tokens"),
        *inside("cache_write_tokens", CURRENT + 40, _USAGE, "cache_creation_input_tokens"),
        *inside("cost_usd", CURRENT + 40, "mlflow.llm.cost", "total_cost"),
        *attrs("documents", LEGACY + 40, "mlflow.spanOutputs", kinds="retriever"),
        *attrs("query", LEGACY + 40, "mlflow.spanInputs", kinds="retriever"),
    ),
)
