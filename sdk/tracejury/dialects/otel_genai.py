"""OpenTelemetry GenAI semantic conventions, all generations.

Source: semantic-conventions v1.26 to v1.44, semantic-conventions-genai.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    EVENT,
    LEGACY,
    MARK,
    OPERATION,
    Dialect,
    KindRule,
    NameRule,
    Prefixed,
    Rule,
    attrs,
    event,
    messages,
)
from tracejury.trace import SpanKind

DETAILS = "gen_ai.client.inference.operation.details"
OPERATIONS: Final[dict[str, SpanKind]] = {
    **dict.fromkeys(
        (
            "chat",
            "text_completion",
            "completion",
            "completions",
            "responses",
            "generate_content",
            "llm_call",
            "llm_request",
            "fetch_response",
        ),
        "llm",
    ),
    **dict.fromkeys(("embeddings", "embedding"), "embedding"),
    "rerank": "reranker",
    **dict.fromkeys(("retrieval", "vectordb", "vector_db_retrieve"), "retriever"),
    **dict.fromkeys(("execute_tool", "tool_call"), "tool"),
    **dict.fromkeys(("invoke_agent", "create_agent", "agent_call"), "agent"),
    **dict.fromkeys(("invoke_workflow", "invoke_swarm", "invoke_graph"), "workflow"),
    **dict.fromkeys(("execute_task", "plan", "agent_step", "execute_event_loop_cycle"), "step"),
    **dict.fromkeys(("handoff", "goto"), "handoff"),
    **dict.fromkeys(
        (
            "create_memory",
            "search_memory",
            "update_memory",
            "upsert_memory",
            "delete_memory",
            "create_memory_store",
            "delete_memory_store",
        ),
        "memory",
    ),
    "evaluate": "evaluator",
}
_INPUT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_TALK = "llm agent workflow step unknown"

DIALECT = Dialect(
    name="otel_genai",
    label="OpenTelemetry GenAI",
    source="semantic-conventions v1.44, opentelemetry-util-genai 1.3b0",
    prefixes=("gen_ai.",),
    kinds=(
        KindRule("gen_ai.operation.name", OPERATION, OPERATIONS),
        KindRule("gen_ai.guardrail.name", MARK, always="guardrail"),
        KindRule("gen_ai.handoff.to_agent", MARK, always="handoff"),
    ),
    names=(
        NameRule(r"execute_tool (.+)", "tool"),
        NameRule(r"invoke_agent (.+)", "agent"),
        NameRule(r"chat \S+", "llm"),
    ),
    rules=(
        *attrs("operation", CURRENT, "gen_ai.operation.name"),
        *attrs("session_id", CURRENT, "gen_ai.conversation.id", "gen_ai.session.id"),
        *attrs("user_id", LEGACY, "gen_ai.request.user", "gen_ai.user.id"),
        *attrs("agent_name", CURRENT, "gen_ai.agent.name"),
        *attrs("provider", CURRENT, "gen_ai.provider.name"),
        *attrs("provider", LEGACY, "gen_ai.system"),
        *attrs("model", CURRENT, "gen_ai.response.model"),
        *attrs("model", CURRENT + 50, "gen_ai.request.model"),
        *attrs("request_model", CURRENT, "gen_ai.request.model"),
        *attrs("input", CURRENT, "gen_ai.input.messages"),
        *event("input", EVENT, DETAILS, "gen_ai.input.messages"),
        *messages("input", EVENT + 10, _INPUT_ROLES, _TALK),
        *event("input", LEGACY + 40, "gen_ai.content.prompt", "gen_ai.prompt"),
        *attrs("input", LEGACY + 45, "gen_ai.prompt"),
        *attrs("output", CURRENT, "gen_ai.output.messages"),
        *event("output", EVENT, DETAILS, "gen_ai.output.messages"),
        *messages("output", EVENT + 10, {"gen_ai.choice": "assistant"}, _TALK),
        *event("output", LEGACY + 40, "gen_ai.content.completion", "gen_ai.completion"),
        *attrs("output", LEGACY + 45, "gen_ai.completion"),
        *attrs("system", CURRENT, "gen_ai.system_instructions"),
        *event("system", EVENT, DETAILS, "gen_ai.system_instructions"),
        *attrs("tool_definitions", CURRENT, "gen_ai.tool.definitions"),
        *event("tool_definitions", EVENT, DETAILS, "gen_ai.tool.definitions"),
        *attrs("tool_name", CURRENT, "gen_ai.tool.name", "gen_ai.tool.call.name"),
        *attrs("tool_call_id", CURRENT, "gen_ai.tool.call.id", "gen_ai.tool.call_id"),
        *attrs("tool_arguments", CURRENT, "gen_ai.tool.call.arguments"),
        *attrs("tool_arguments", LEGACY, "gen_ai.tool.args", "tool.input"),
        *event("tool_arguments", LEGACY + 10, "gen_ai.tool.message", "content", "tool"),
        *attrs("tool_result", CURRENT, "gen_ai.tool.call.result", guard="quoted"),
        *attrs("tool_result", LEGACY, "tool.output"),
        *event("tool_result", LEGACY + 10, "gen_ai.choice", "message", "tool"),
        *attrs("input_tokens", CURRENT, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        *attrs(
            "output_tokens", CURRENT, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"
        ),
        *attrs("total_tokens", CURRENT, "gen_ai.usage.total_tokens"),
        *attrs(
            "cache_read_tokens",
            CURRENT,
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.details.cache_read_tokens",
            "gen_ai.usage.details.cache_read_input_tokens",
            "gen_ai.usage.cached_input_tokens",
            "gen_ai.usage.prompt_tokens_details.cache_read",
        ),
        *attrs(
            "cache_write_tokens",
            CURRENT,
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "gen_ai.usage.cache_write_input_tokens",
            "gen_ai.usage.cache_write_tokens",
            "gen_ai.usage.details.cache_write_tokens",
            "gen_ai.usage.prompt_tokens_details.cache_write",
        ),
        *attrs(
            "reasoning_tokens",
            CURRENT,
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
            "gen_ai.usage.completion_tokens_details.reasoning",
        ),
        *attrs("cost_usd", CURRENT, "gen_ai.usage.cost"),
        *attrs("cost_part", CURRENT, "gen_ai.usage.input_cost", "gen_ai.usage.output_cost"),
        *attrs("response_id", CURRENT, "gen_ai.response.id"),
        *attrs(
            "finish_reasons",
            CURRENT,
            "gen_ai.response.finish_reasons",
            "gen_ai.response.finish_reason",
            "anthropic.message.stop_reason",
        ),
        Rule("params", Prefixed("gen_ai.request"), CURRENT),
        *attrs("documents", CURRENT, "gen_ai.retrieval.documents"),
        *event("documents", EVENT, "db.query.result", "*"),
        *event("documents", EVENT + 1, "db.search.result", "*"),
        *attrs("query", CURRENT, "gen_ai.retrieval.query.text", "gen_ai.retrieval.query"),
        *attrs("ttft_s", CURRENT, "gen_ai.response.time_to_first_chunk"),
        *attrs("failed", CURRENT, "gen_ai.tool.status"),
    ),
    known=(
        *("gen_ai.agent.description", "gen_ai.agent.id", "gen_ai.evaluation."),
        *("gen_ai.is_streaming", "gen_ai.openai."),
        *("gen_ai.output.type", "gen_ai.response.system_fingerprint", "gen_ai.server."),
        *("gen_ai.task.", "gen_ai.tool.description", "gen_ai.tool.type", "gen_ai.workflow."),
    ),
    missing=(
        "Messages, tool arguments and tool results are recorded only when asked for (see below).",
        "Instrumentations of model SDKs record what the model asked for; what a tool gave back "
        "stands in the next prompt.",
        "A streamed reply has token counts only if the request asks the provider for them.",
    ),
    enable="""\
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental
export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY
# older instrumentations put the content into logs; then also:
export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true
export OTEL_LOGS_EXPORTER=otlp
opentelemetry-instrument python agent.py""",
    not_providers=(
        "strands-agents",
        "microsoft.agent_framework",
        "gcp.vertex.agent",
        "langchain",
        "langgraph",
        "autogen",
        "crewai",
        "agent_framework",
    ),
)
