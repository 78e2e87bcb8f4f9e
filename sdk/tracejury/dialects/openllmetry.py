"""OpenLLMetry (Traceloop), before and after its move to the GenAI conventions.

Source: openllmetry 0.40.14 and 0.62.4, opentelemetry-semantic-conventions-ai 0.4.13, 0.5.1.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    GENERIC,
    LEGACY,
    MARK,
    Dialect,
    KindRule,
    NameRule,
    attrs,
    flat,
    inside,
)

_PROPERTIES = "traceloop.association.properties."

DIALECT = Dialect(
    name="openllmetry",
    label="OpenLLMetry",
    source="openllmetry 0.33 to 0.62.4, opentelemetry-semantic-conventions-ai 0.4.13 and 0.5.1",
    scopes=("traceloop.tracer",),
    prefixes=("traceloop.",),
    kinds=(
        KindRule(
            "traceloop.span.kind",
            EXPLICIT,
            {
                "workflow": "workflow",
                "task": "step",
                "agent": "agent",
                "tool": "tool",
                "handoff": "handoff",
            },
        ),
        KindRule(
            "llm.request.type",
            MARK,
            {
                "chat": "llm",
                "completion": "llm",
                "embedding": "embedding",
                "rerank": "reranker",
            },
        ),
    ),
    names=(
        NameRule(r"(?:FunctionTool|QueryEngineTool)\.task", "tool", overrides=True),
        NameRule(r"(.+)\.tool", "tool"),
        NameRule(r"(.+)\.agent", "agent"),
        NameRule(r"(.+)\.workflow", "workflow"),
        NameRule(r"(.+)\.task", "step"),
    ),
    rules=(
        *attrs(
            "session_id",
            LEGACY + 10,
            *(_PROPERTIES + k for k in ("session_id", "conversation_id", "thread_id", "chat_id")),
        ),
        *attrs("user_id", LEGACY + 10, _PROPERTIES + "user_id"),
        # LangChain's metadata, before it was copied into association properties.
        *inside(
            "session_id",
            GENERIC,
            "traceloop.entity.input",
            *("metadata.session_id", "metadata.conversation_id", "metadata.thread_id"),
            kinds="workflow",
        ),
        *inside("user_id", GENERIC, "traceloop.entity.input", "metadata.user_id", kinds="workflow"),
        *attrs("agent_name", LEGACY + 20, "traceloop.entity.name", kinds="agent"),
        *attrs("agent_name", LEGACY + 21, _PROPERTIES + "lc_agent_name", kinds="agent"),
        *flat("input", LEGACY + 20, "gen_ai.prompt"),
        *attrs("input", GENERIC + 2, "traceloop.entity.input", guard="quoted"),
        *attrs("input", GENERIC + 3, "gen_ai.task.input", guard="quoted"),
        # LlamaIndex's workflows: a step hands on what the next one is given.
        *inside("input", GENERIC + 4, "traceloop.entity.output", "input", kinds="step"),
        *flat("output", LEGACY + 20, "gen_ai.completion"),
        *attrs("output", GENERIC + 2, "traceloop.entity.output", guard="quoted"),
        *attrs("output", GENERIC + 3, "gen_ai.task.output", guard="quoted"),
        *flat("tool_definitions", LEGACY + 10, "llm.request.functions"),
        *inside("tool_name", LEGACY + 19, "traceloop.entity.output", "tool_name", kinds="tool"),
        *attrs("tool_name", LEGACY + 20, "traceloop.entity.name", kinds="tool"),
        *attrs(
            "tool_arguments", GENERIC + 2, "traceloop.entity.input", kinds="tool", guard="quoted"
        ),
        *attrs("tool_result", GENERIC + 2, "traceloop.entity.output", kinds="tool", guard="quoted"),
        *attrs("input_tokens", CURRENT + 20, "llm.usage.prompt_tokens"),
        *attrs("output_tokens", CURRENT + 20, "llm.usage.completion_tokens"),
        *attrs("total_tokens", CURRENT + 20, "llm.usage.total_tokens"),
        *attrs("reasoning_tokens", CURRENT + 20, "llm.usage.reasoning_tokens"),
        *attrs("cost_usd", CURRENT + 20, "llm.usage.cost"),
        *attrs("model", CURRENT + 70, "llm.request.model", "llm.response.model"),
        *attrs("finish_reasons", LEGACY, "llm.response.finish_reason", "llm.response.stop_reason"),
        *inside(
            "documents", LEGACY + 20, "traceloop.entity.output", "documents", kinds="retriever"
        ),
        *inside("query", LEGACY + 20, "traceloop.entity.input", "query", kinds="retriever"),
        *attrs("query", GENERIC + 2, "traceloop.entity.input", kinds="retriever"),
    ),
    known=(
        *("gen_ai.completion.tool.", "gen_ai.is_streaming", "gen_ai.openai.", "gen_ai.task."),
        "gen_ai.workflow.",
        "llm.headers",
        "llm.is_streaming",
        "traceloop.",
    ),
    missing=(
        "Streamed replies have no token counts unless the request asks the provider for them; "
        "Anthropic's had none before 0.40.",
        "Before 0.5x the Bedrock and Ollama instrumentations leave out what the model asked of "
        "tools; within one trace it is read from the next prompt.",
        "The Groq instrumentation before 0.40 cuts the prompt at the first message without text.",
        "Bedrock models are named without their vendor: claude-3-5-sonnet-20241022-v2:0.",
    ),
    enable="""\
export TRACELOOP_TRACE_CONTENT=true
from traceloop.sdk import Traceloop
Traceloop.init(app_name="my-agent", api_endpoint="http://127.0.0.1:4318")
Traceloop.set_association_properties({"session_id": "...", "user_id": "..."})""",
)
