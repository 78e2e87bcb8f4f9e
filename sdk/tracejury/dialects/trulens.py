"""TruLens.

Source: trulens-core and trulens-otel-semconv 2.16.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    EXPLICIT,
    GENERIC,
    LEGACY,
    VENDOR,
    CacheRule,
    Dialect,
    KindRule,
    Prefixed,
    Rule,
    attrs,
    inside,
)

_AI = "ai.observability."
_CALL = _AI + "call."
_COST = _AI + "cost."
_STATE = _CALL + "kwargs.input"

DIALECT = Dialect(
    name="trulens",
    label="TruLens",
    source="trulens 2.16",
    scopes=("trulens",),
    prefixes=(_AI,),
    kinds=(
        KindRule(
            _AI + "span_type",
            EXPLICIT,
            {
                "record_root": "agent",
                "nested_record_root": "workflow",
                "retrieval": "retriever",
                "generation": "llm",
                "agent": "agent",
                "tool": "tool",
                "reranking": "reranker",
                "mcp": "tool",
                "guardrail": "guardrail",
                "graph_task": "step",
                "graph_node": "step",
                "workflow_step": "step",
                "eval": "evaluator",
                "eval_root": "evaluator",
            },
        ),
    ),
    rules=(
        *attrs("session_id", LEGACY + 60, _AI + "conversation_id"),
        *inside(
            "session_id",
            LEGACY + 61,
            _CALL + "kwargs.config",
            "configurable.thread_id",
            "metadata.thread_id",
        ),
        *attrs("input", VENDOR, _AI + "record_root.input"),
        *attrs("output", VENDOR, _AI + "record_root.output"),
        *attrs("output", GENERIC + 60, _CALL + "return", kinds="llm agent workflow retriever"),
        Rule(
            "input",
            Prefixed(_CALL + "kwargs"),
            GENERIC + 60,
            frozenset({"llm", "agent", "workflow", "retriever"}),
        ),
        *attrs("tool_name", VENDOR, _AI + "mcp.tool_name", kinds="tool"),
        *inside("tool_name", VENDOR + 1, _STATE, "tool_call.name", kinds="tool"),
        *attrs("tool_name", VENDOR + 2, _CALL + "function", kinds="tool", guard="tail"),
        *inside("tool_call_id", LEGACY + 60, _STATE, "tool_call.id", kinds="tool"),
        *inside("tool_arguments", VENDOR, _STATE, "tool_call.args", kinds="tool"),
        Rule("tool_arguments", Prefixed(_CALL + "kwargs"), VENDOR + 1, frozenset({"tool"})),
        *attrs("tool_arguments", VENDOR + 2, _AI + "mcp.input_arguments", kinds="tool"),
        *inside("tool_result", VENDOR, _CALL + "return", "messages.0.content", kinds="tool"),
        *attrs("tool_result", VENDOR + 1, _CALL + "return", kinds="tool"),
        *attrs("tool_result", VENDOR + 2, _AI + "mcp.output_content", kinds="tool"),
        *attrs("failed", LEGACY + 60, _AI + "mcp.output_is_error", kinds="tool"),
        *attrs("error_message", LEGACY + 60, _CALL + "error", _AI + "record_root.error"),
        *attrs("query", VENDOR, _AI + "retrieval.query_text"),
        *attrs("documents", VENDOR, _AI + "retrieval.retrieved_contexts"),
        *attrs("model", LEGACY + 60, _COST + "model"),
        *attrs("input_tokens", LEGACY + 60, _COST + "num_prompt_tokens"),
        *attrs("output_tokens", LEGACY + 60, _COST + "num_completion_tokens"),
        *attrs("total_tokens", LEGACY + 60, _COST + "num_tokens"),
        *attrs("reasoning_tokens", LEGACY + 60, _COST + "num_reasoning_tokens"),
        *attrs("cost_usd", LEGACY + 60, _COST + "cost"),
    ),
    cache=(CacheRule(basis="inclusive", scopes=("trulens",)),),
    known=(_AI,),
    missing=(
        "What the models said and were sent is not recorded, only their tokens, on the span of "
        "the function that called them.",
        "Cached tokens are not told apart.",
        "There is no place for the user.",
    ),
    enable="""\
pip install trulens-core opentelemetry-exporter-otlp-proto-http
export TRULENS_OTEL_TRACING=1
# then, in the agent's program:
from trulens.core import TruSession

session = TruSession(
    otel_exporter="otlp",
    otlp_endpoint="http://127.0.0.1:4318/v1/traces",
    otlp_protocol="http/protobuf",
)
""",
)
