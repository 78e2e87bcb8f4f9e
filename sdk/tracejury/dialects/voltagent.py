"""VoltAgent.

Source: @voltagent/core 2.10.0.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import CURRENT, LEGACY, MARK, Dialect, KindRule, attrs
from tracejury.trace import SpanKind

_KINDS: Final[dict[str, SpanKind]] = {
    "agent": "agent",
    "llm": "llm",
    "tool": "tool",
    "memory": "memory",
    "retriever": "retriever",
    "embedding": "embedding",
    "guardrail": "guardrail",
    "workflow": "workflow",
    "workflow-step": "step",
}

DIALECT = Dialect(
    name="voltagent",
    label="VoltAgent",
    source="@voltagent/core 2.10.0",
    scopes=("@voltagent/",),
    prefixes=("voltagent.",),
    kinds=(
        KindRule("span.type", MARK, _KINDS),
        # Of spans without a type only: all spans of an agent name it as their entity.
        KindRule("entity.type", MARK + 20, {"agent": "agent", "workflow": "workflow"}),
    ),
    rules=(
        *attrs("session_id", LEGACY + 75, "voltagent.conversation_id"),
        *attrs("agent_name", LEGACY + 75, "entity.name"),
        *attrs("input", LEGACY + 75, "agent.messages", kinds="agent"),
        *attrs("input", LEGACY + 75, "llm.messages", kinds="llm"),
        *attrs("request_model", CURRENT + 75, "llm.model", kinds="llm"),
        *attrs("model", CURRENT + 75, "llm.model", kinds="llm"),
        *attrs("system", LEGACY + 75, "agent.instructions", kinds="agent"),
        *attrs("tool_call_id", CURRENT + 75, "tool.call.id", kinds="tool"),
        *attrs("finish_reasons", CURRENT + 75, "llm.finish_reason", kinds="llm"),
        *attrs("input_tokens", LEGACY + 75, "usage.prompt_tokens"),
        *attrs("output_tokens", LEGACY + 75, "usage.completion_tokens"),
        *attrs("total_tokens", LEGACY + 75, "usage.total_tokens"),
        *attrs("cache_read_tokens", LEGACY + 75, "usage.cached_tokens"),
        *attrs("reasoning_tokens", LEGACY + 75, "usage.reasoning_tokens"),
    ),
    # A model's span covers several calls and tells what the last of them used.
    agent_sums=True,
    known=(
        *("agent.", "entity.", "memory.", "llm.", "usage.prompt_context.", "span.label"),
        *("operation.id", "voltagent.", "ai.model.", "ai.response.finish_reason", "tool."),
    ),
    missing=(
        "What a model answered is recorded only where it is the agent's answer.",
        "The tokens of each single model call are not recorded, only the agent's sums.",
    ),
    enable="""\
new VoltAgentObservability({ spanProcessors: [new BatchSpanProcessor(
  new OTLPTraceExporter({ url: "http://127.0.0.1:4318/v1/traces" }))] })
// in every call
agent.generateText(text, { userId, conversationId })""",
)
