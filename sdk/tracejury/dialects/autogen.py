"""AutoGen's own spans, and those of AG2.

Source: autogen-core 0.7.5, autogen-agentchat 0.7.5; ag2 0.11.0, 1.2.1.
"""

from __future__ import annotations

from tracejury.dialects.rules import CURRENT, EXPLICIT, Dialect, KindRule, attrs

DIALECT = Dialect(
    name="autogen",
    label="AutoGen and AG2",
    source="autogen-core 0.7.5; ag2 0.11.0 to 1.2.1",
    scopes=("autogen", "ag2", "opentelemetry.instrumentation.ag2"),
    prefixes=("ag2.",),
    kinds=(
        KindRule(
            "ag2.span.type",
            EXPLICIT,
            {
                "conversation": "workflow",
                "multi_conversation": "workflow",
                "agent": "agent",
                "llm": "llm",
                "tool": "tool",
                "handoff": "handoff",
                "speaker_selection": "step",
                "human_input": "step",
                "code_execution": "step",
            },
            # What is left tells of tokens a second time, or of the network between agents.
            always="event",
        ),
    ),
    rules=(*attrs("reasoning_tokens", CURRENT + 10, "gen_ai.usage.thinking_tokens"),),
    not_providers=("autogen",),
    known=("ag2.", "recipient_agent_", "sender_agent_", "message_context"),
    missing=(
        "AutoGen records the names of agents and tools alone: no models, tokens or contents; "
        "instrument the model's SDK or use OpenInference beside it.",
        "In AutoGen's teams question and answer stand in different traces.",
        "AG2 records no session and no user.",
    ),
    enable="""\
# AG2 1.x
from ag2.middleware.builtin.telemetry import TelemetryMiddleware
agent = Agent("assistant", middleware=[TelemetryMiddleware(agent_name="assistant")])
# AG2 0.11
from autogen.opentelemetry import instrument_agent, instrument_llm_wrapper
instrument_llm_wrapper(tracer_provider=provider, capture_messages=True)
instrument_agent(agent, tracer_provider=provider)
# both: a TracerProvider whose OTLPSpanExporter sends to
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318""",
)
