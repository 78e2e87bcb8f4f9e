"""OpenInference (Arize Phoenix).

Source: openinference-semantic-conventions 0.1.42 and the per-framework instrumentors.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    GENERIC,
    LEGACY,
    Dialect,
    KindRule,
    NameRule,
    added,
    attrs,
    flat,
    inside,
)

_INPUT_COUNTS = (
    "generations.0.0.message.kwargs.usage_metadata.input_tokens",
    "usage.prompt_tokens",
)
# Anthropic counts cached tokens apart; OpenAI's Responses API has the first of these only.
_INPUT_SUM = (
    "usage.input_tokens",
    "usage.cache_read_input_tokens",
    "usage.cache_creation_input_tokens",
)
_OUTPUT_COUNTS = ("usage.completion_tokens", "usage.output_tokens")

DIALECT = Dialect(
    name="openinference",
    label="OpenInference",
    source="openinference-semantic-conventions 0.1.42, instrumentors of 2024-10 to 2026-10",
    scopes=("openinference.",),
    prefixes=("openinference.",),
    kinds=(
        KindRule(
            "openinference.span.kind",
            EXPLICIT,
            {
                "llm": "llm",
                "embedding": "embedding",
                "chain": "workflow",
                "retriever": "retriever",
                "reranker": "reranker",
                "tool": "tool",
                "agent": "agent",
                "guardrail": "guardrail",
                "evaluator": "evaluator",
                "prompt": "prompt",
                "decision": "step",
            },
        ),
    ),
    names=(NameRule(r"(?:handoff to|transfer_to_agent) ?(.*)", "handoff", overrides=True),),
    rules=(
        *attrs("session_id", LEGACY, "session.id"),
        *inside(
            "session_id", LEGACY + 60, "metadata", "session_id", "conversation_id", "thread_id"
        ),
        *attrs("user_id", LEGACY, "user.id"),
        *inside("user_id", LEGACY + 60, "metadata", "user_id"),
        *attrs("agent_name", CURRENT + 10, "agent.name"),
        *inside("agent_name", LEGACY + 60, "metadata", "lc_agent_name", kinds="agent"),
        *attrs("agent_name", LEGACY + 80, "graph.node.id", kinds="agent"),
        *attrs("provider", CURRENT + 10, "llm.provider"),
        *attrs("provider", LEGACY + 10, "llm.system"),
        *attrs("model", CURRENT + 10, "llm.response.model_name"),
        *attrs(
            "model",
            CURRENT + 60,
            "llm.request.model_name",
            "llm.model_name",
            "embedding.model_name",
            "reranker.model_name",
        ),
        # Before gen_ai.request.model: written beside it, that one repeats llm.model_name.
        *inside("request_model", CURRENT - 10, "llm.invocation_parameters", "model"),
        *flat("input", LEGACY, "llm.input_messages", kinds="llm"),
        *flat("input", GENERIC + 5, "llm.input_messages"),
        *flat("input", LEGACY + 80, "llm.prompts"),
        *attrs("input", GENERIC, "input.value", guard="mime"),
        *attrs("input", GENERIC + 30, "crew_tasks", kinds="workflow"),
        *flat("output", LEGACY, "llm.output_messages"),
        *flat("output", LEGACY + 80, "llm.choices"),
        *attrs("output", GENERIC, "output.value", guard="mime"),
        *flat("tool_definitions", LEGACY, "llm.tools"),
        *attrs("tool_name", CURRENT + 10, "tool.name", kinds="tool handoff"),
        *attrs("tool_call_id", CURRENT + 10, "tool.id", "tool_call.id"),
        *attrs("tool_arguments", GENERIC, "input.value", kinds="tool", guard="mime"),
        *attrs("tool_arguments", GENERIC + 20, "tool.parameters", kinds="tool", guard="not_schema"),
        *attrs("tool_result", GENERIC, "output.value", kinds="tool", guard="mime"),
        # What the provider or LangChain counted, where the response was recorded: the attributes
        # leave out cached tokens (LangChain), are absent (Responses API) or mixed up (Agents).
        *inside("input_tokens", CURRENT + 8, "output.value", *_INPUT_COUNTS, kinds="llm"),
        *added("input_tokens", CURRENT + 9, "output.value", *_INPUT_SUM, kinds="llm"),
        *inside("output_tokens", CURRENT + 9, "output.value", *_OUTPUT_COUNTS, kinds="llm"),
        *attrs("input_tokens", CURRENT + 10, "llm.token_count.prompt"),
        *attrs("output_tokens", CURRENT + 10, "llm.token_count.completion"),
        *attrs("total_tokens", CURRENT + 10, "llm.token_count.total"),
        *attrs(
            "cache_read_tokens",
            CURRENT + 10,
            "llm.token_count.prompt_details.cache_read",
            "llm.token_count.prompt_details.cache_input",
        ),
        *attrs("cache_write_tokens", CURRENT + 10, "llm.token_count.prompt_details.cache_write"),
        *attrs("reasoning_tokens", CURRENT + 10, "llm.token_count.completion_details.reasoning"),
        *attrs("cost_usd", CURRENT + 10, "llm.cost.total"),
        *attrs("cost_part", CURRENT + 10, "llm.cost.prompt", "llm.cost.completion"),
        *attrs("finish_reasons", CURRENT + 10, "llm.finish_reason"),
        *attrs("params", CURRENT + 10, "llm.invocation_parameters"),
        *inside("response_id", LEGACY, "output.value", "id", kinds="llm"),
        *flat("documents", LEGACY, "retrieval.documents"),
        *flat("documents", LEGACY + 5, "reranker.output_documents"),
        *attrs("documents", GENERIC, "output.value", kinds="retriever"),
        *attrs("query", LEGACY, "reranker.query"),
        *attrs("query", GENERIC, "input.value", kinds="retriever reranker"),
    ),
    answer_tools=(r"final_answer",),
    known=(
        *("input.mime_type", "llm.prompt_template.", "openinference.", "output.mime_type"),
        *("tag.tags", "tool.description"),
    ),
    missing=(
        "The Bedrock instrumentor records no tool calls up to 0.1.18.",
        "The Responses API of OpenAI has no token attributes up to 0.1.22 of its instrumentor: "
        "they are read from the recorded response.",
        "The MCP instrumentor only hands the trace context on and makes no spans.",
    ),
    enable="""\
pip install arize-phoenix-otel openinference-instrumentation-openai  # or your framework's
from phoenix.otel import register
register(endpoint="http://127.0.0.1:4318/v1/traces", auto_instrument=True)
# sessions and users:
from openinference.instrumentation import using_attributes
with using_attributes(session_id="...", user_id="..."): agent.run(...)""",
)
