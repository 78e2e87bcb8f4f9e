"""MLflow Tracing; every value is JSON.

Source: mlflow 3.3 to 3.17.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    LEGACY,
    VENDOR,
    CacheRule,
    Dialect,
    KindRule,
    attrs,
    inside,
)

_USAGE = "mlflow.chat.tokenUsage"

DIALECT = Dialect(
    name="mlflow",
    label="MLflow Tracing",
    source="mlflow 3.3 and 3.17",
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
        # With `MLFLOW_ENABLE_OTEL_GENAI_SEMCONV` the request's model is the one that answered, and
        # the names of the conventions hold JSON.
        *attrs("request_model", CURRENT - 1, "model", kinds="llm", guard="quoted"),
        *attrs("tool_result", CURRENT - 1, "gen_ai.tool.call.result", guard="quoted"),
        *inside("request_model", CURRENT + 40, "mlflow.spanInputs", "model", kinds="llm"),
        *inside("request_model", CURRENT + 41, "invocation_params", "model", kinds="llm"),
        *inside("request_model", CURRENT + 42, "metadata", "ls_model_name", kinds="llm"),
        *inside("model", LEGACY + 70, "mlflow.spanOutputs", "model", kinds="llm"),
        *attrs("input", LEGACY + 72, "mlflow.spanInputs", guard="quoted"),
        *attrs("output", LEGACY + 72, "mlflow.spanOutputs", guard="quoted"),
        *attrs("tool_name", CURRENT + 40, "mlflow.spanFunctionName", kinds="tool", guard="quoted"),
        *attrs("tool_arguments", VENDOR, "mlflow.spanInputs", kinds="tool", guard="quoted"),
        *attrs("tool_result", VENDOR, "mlflow.spanOutputs", kinds="tool", guard="quoted"),
        *attrs("tool_call_id", LEGACY + 40, "tool_call_id", kinds="tool", guard="quoted"),
        *attrs("tool_definitions", LEGACY + 40, "mlflow.chat.tools"),
        *inside("input_tokens", CURRENT + 40, _USAGE, "input_tokens"),
        *inside("output_tokens", CURRENT + 40, _USAGE, "output_tokens"),
        *inside("total_tokens", CURRENT + 40, _USAGE, "total_tokens"),
        *inside("cache_read_tokens", CURRENT + 40, _USAGE, "cache_read_input_tokens"),
        *inside("cache_write_tokens", CURRENT + 40, _USAGE, "cache_creation_input_tokens"),
        *inside(
            "cache_read_tokens",
            CURRENT + 41,
            "mlflow.spanOutputs",
            "usage.cache_read_input_tokens",
            kinds="llm",
        ),
        *inside(
            "cache_write_tokens",
            CURRENT + 41,
            "mlflow.spanOutputs",
            "usage.cache_creation_input_tokens",
            kinds="llm",
        ),
        *inside("cost_usd", CURRENT + 40, "mlflow.llm.cost", "total_cost"),
        *attrs("documents", LEGACY + 40, "mlflow.spanOutputs", kinds="retriever"),
        *attrs("query", LEGACY + 40, "mlflow.spanInputs", kinds="retriever"),
    ),
    cache=(
        # Until 3.3, and in the tracer of Claude Code, Anthropic's counts are passed on; since then
        # autolog adds the cached tokens.
        CacheRule(
            basis="exclusive",
            scopes=("mlflow.tracing.provider",),
            absent=("mlflow.llm.provider",),
            providers=("claude",),
        ),
        CacheRule(basis="inclusive", scopes=("mlflow.",)),
    ),
    known=("mlflow.",),
    missing=(
        "Autolog of Anthropic records no streamed calls.",
        "Session and user are recorded only where the program calls "
        "`mlflow.update_current_trace(metadata=...)`, and not in every version on the spans.",
    ),
    enable="""\
pip install mlflow opentelemetry-exporter-otlp-proto-http
export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces
export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf
# then, in the agent's program, for the libraries that it uses:
import mlflow

mlflow.openai.autolog()
mlflow.anthropic.autolog()
mlflow.langchain.autolog()
""",
)
