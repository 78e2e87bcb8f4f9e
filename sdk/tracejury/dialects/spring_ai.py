"""Spring AI's observations, exported through Micrometer.

Source: Spring AI reference 1.0 to 2.0 (observability).
"""

from __future__ import annotations

from tracejury.dialects.rules import CURRENT, GENERIC, LEGACY, OPERATION, Dialect, KindRule, attrs

DIALECT = Dialect(
    name="spring_ai",
    label="Spring AI",
    source="Spring AI reference 1.0 to 2.0",
    scopes=("org.springframework.ai",),
    prefixes=("spring.ai.",),
    kinds=(
        KindRule(
            "spring.ai.kind",
            OPERATION,
            {
                "chat_client": "agent",
                "advisor": "step",
                "tool_call": "tool",
                "vector_store": "retriever",
            },
        ),
    ),
    rules=(
        *attrs("session_id", LEGACY, "spring.ai.chat.client.conversation.id"),
        *attrs("tool_name", LEGACY, "spring.ai.tool.definition.name"),
        *attrs("tool_call_id", LEGACY, "spring.ai.tool.call.id"),
        *attrs("tool_arguments", CURRENT + 20, "spring.ai.tool.call.arguments"),
        *attrs("tool_result", CURRENT + 20, "spring.ai.tool.call.result"),
        *attrs("input", GENERIC, "spring.ai.chat.client.user.text"),
        *attrs("system", LEGACY, "spring.ai.chat.client.system.text"),
        *attrs("query", LEGACY, "db.vector.query.content"),
        *attrs("documents", LEGACY, "db.vector.query.response.documents", kinds="retriever"),
    ),
    not_providers=("spring_ai", "spring-ai"),
    known=("spring.ai.",),
    missing=(
        "Since 1.0 prompts and completions are logged, not recorded on spans.",
        "Arguments and results of tools are recorded only with include-content.",
    ),
    enable="""\
management.opentelemetry.tracing.export.otlp.endpoint=http://127.0.0.1:4318/v1/traces
management.tracing.sampling.probability=1.0
spring.ai.tools.observations.include-content=true""",
)
