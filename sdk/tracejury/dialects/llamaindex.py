"""LlamaIndex's own OpenTelemetry spans: the content stands in span events.

Source: llama-index-core 0.14, llama-index-observability-otel 0.7, llama-index-workflows 2.26.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    EVENT,
    LEGACY,
    MARK,
    Dialect,
    EventKey,
    EventKind,
    Field,
    KindRule,
    NameRule,
    Recorded,
    Rule,
    event,
    event_flat,
    inside,
)

_STEP: Final = "llamaindex.step.input_summary"
_CHAT, _CHATTED = "LLMChatStartEvent", "LLMChatEndEvent"
_COMPLETE, _COMPLETED = "LLMCompletionStartEvent", "LLMCompletionEndEvent"


def _first(field: Field, rank: int, name: str, *keys: str, kinds: str = "") -> list[Rule]:
    """Rules for attributes of one event, the first of them first."""
    chosen = frozenset(kinds.split())
    return [Rule(field, EventKey(name, key), rank + i, chosen) for i, key in enumerate(keys)]


DIALECT = Dialect(
    name="llamaindex",
    label="LlamaIndex",
    source="llama-index-core 0.14.25, llama-index-observability-otel 0.7.0",
    scopes=("llamaindex.opentelemetry.tracer",),
    prefixes=("llamaindex.",),
    kinds=(KindRule("llamaindex.step.input_event", MARK + 5, {"toolcall": "tool"}, always="step"),),
    event_kinds=(
        EventKind(_CHAT, "llm"),
        EventKind(_COMPLETE, "llm"),
        EventKind("EmbeddingStartEvent", "embedding"),
        EventKind("RetrievalStartEvent", "retriever"),
        EventKind("ReRankStartEvent", "reranker"),
        EventKind("QueryStartEvent", "workflow"),
        EventKind("AgentChatWithStepStartEvent", "agent"),
        EventKind("SynthesizeStartEvent", "step"),
        EventKind("GetResponseStartEvent", "step"),
        EventKind("LLMPredictStartEvent", "step"),
    ),
    names=(
        NameRule(r"(\w*Agent|AgentWorkflow)\.run", "agent"),
        NameRule(r"\w+ChatEngine\.a?(?:stream_)?chat", "workflow"),
    ),
    records=(Recorded(event="AgentToolCallEvent", kind="tool"),),
    rules=(
        *event("input", EVENT + 20, _CHAT, "messages"),
        *event_flat("input", EVENT + 21, _CHAT, "messages"),
        *event("input", EVENT + 22, _COMPLETE, "prompt"),
        *_first("input", EVENT + 20, "QueryStartEvent", "query.query_str", "query"),
        *event("input", EVENT + 20, "AgentChatWithStepStartEvent", "user_msg"),
        *event("input", EVENT + 20, "EmbeddingEndEvent", "chunks", "embedding"),
        *event_flat("output", EVENT + 20, _CHATTED, "response.message"),
        *event("output", EVENT + 22, _COMPLETED, "response.text"),
        *event("output", EVENT + 20, "QueryEndEvent", "response.response"),
        *event("output", EVENT + 20, "AgentChatWithStepEndEvent", "response.response"),
        *event("output", EVENT + 20, "workflow.output", "output", "agent workflow"),
        *event("output", EVENT + 20, "step.output", "output", "step"),
        *event("tool_result", EVENT + 20, "step.output", "output", "tool"),
        *inside("tool_name", LEGACY + 40, _STEP, "tool_name", kinds="tool"),
        *inside("tool_call_id", LEGACY + 40, _STEP, "tool_id", kinds="tool"),
        *inside("tool_arguments", LEGACY + 40, _STEP, "tool_kwargs", kinds="tool"),
        *_first("model", CURRENT + 30, _CHATTED, "response.raw.model"),
        *_first("model", CURRENT + 80, _CHAT, "model_dict.model_name", "model_dict.model"),
        *_first("model", CURRENT + 80, _COMPLETE, "model_dict.model_name", "model_dict.model"),
        *event("model", CURRENT + 80, "EmbeddingStartEvent", "model_dict.model_name"),
        *event("model", CURRENT + 80, "ReRankStartEvent", "model_name"),
        *_first("request_model", CURRENT + 30, _CHAT, "model_dict.model_name", "model_dict.model"),
        *event("response_id", CURRENT + 30, _CHATTED, "response.raw.id"),
        *event("tool_definitions", EVENT + 20, _CHAT, "additional_kwargs.tools"),
        *_first(
            "input_tokens",
            CURRENT + 30,
            _CHATTED,
            "response.raw.usage.prompt_tokens",
            "response.raw.usage.input_tokens",
            "response.raw.usage_metadata.prompt_token_count",
            "response.raw.prompt_eval_count",
            "response.additional_kwargs.prompt_tokens",
        ),
        *_first(
            "output_tokens",
            CURRENT + 30,
            _CHATTED,
            "response.raw.usage.completion_tokens",
            "response.raw.usage.output_tokens",
            "response.raw.usage_metadata.candidates_token_count",
            "response.raw.eval_count",
            "response.additional_kwargs.completion_tokens",
        ),
        *event("input_tokens", CURRENT + 35, _COMPLETED, "response.raw.usage.prompt_tokens"),
        *event("output_tokens", CURRENT + 35, _COMPLETED, "response.raw.usage.completion_tokens"),
        *_first(
            "cache_read_tokens",
            CURRENT + 30,
            _CHATTED,
            "response.raw.usage.prompt_tokens_details.cached_tokens",
            "response.raw.usage.cache_read_input_tokens",
        ),
        *event(
            "cache_write_tokens",
            CURRENT + 30,
            _CHATTED,
            "response.raw.usage.cache_creation_input_tokens",
        ),
        *event(
            "reasoning_tokens",
            CURRENT + 30,
            _CHATTED,
            "response.raw.usage.completion_tokens_details.reasoning_tokens",
        ),
        *event("documents", EVENT + 20, "RetrievalEndEvent", "nodes"),
        *event_flat("documents", EVENT + 21, "RetrievalEndEvent", "nodes"),
        *event("documents", EVENT + 20, "ReRankEndEvent", "nodes"),
        *_first(
            "query",
            EVENT + 20,
            "RetrievalStartEvent",
            "str_or_query_bundle.query_str",
            "str_or_query_bundle",
        ),
        *_first("query", EVENT + 20, "ReRankStartEvent", "query.query_str", "query"),
    ),
    known=("llamaindex.run_id", "llamaindex.step."),
    missing=(
        "Streamed model calls (the default of agents) record no answer and no tokens.",
        "Outputs of workflows and steps are cut after 200 characters; tool outputs are taken "
        "from the next prompt.",
        "Sessions and users are not recorded.",
    ),
    enable="""\
pip install llama-index-observability-otel opentelemetry-exporter-otlp-proto-http

from llama_index.observability.otel import LlamaIndexOpenTelemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

LlamaIndexOpenTelemetry(
    span_exporter=OTLPSpanExporter(endpoint="http://127.0.0.1:4318/v1/traces")
).start_registering()
agent = FunctionAgent(..., streaming=False)  # records answers and tokens
""",
)
