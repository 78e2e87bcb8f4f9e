"""Microsoft Agent Framework, for Python and .NET.

Source: agent-framework-core 1.0.0, 1.23.0 with the clients of OpenAI and Anthropic.
"""

from __future__ import annotations

from tracejury.dialects.rules import CacheRule, Dialect, NameRule

_SCOPES = (
    "agent_framework",
    "Experimental.Microsoft.",
    "Microsoft.Agents.AI",
    "Microsoft.Extensions.AI",
)

DIALECT = Dialect(
    name="agent_framework",
    label="Microsoft Agent Framework",
    source="agent-framework-core 1.0.0 to 1.23.0 (Python)",
    scopes=_SCOPES,
    names=(
        NameRule(r"workflow\.run(?: .+)?", "workflow"),
        NameRule(r"workflow\.build(?: .+)?", "event"),
        NameRule(r"(?:executor\.process|edge_group\.process|message\.send)(?: .+)?", "step"),
    ),
    cache=(
        CacheRule(
            basis="exclusive", scopes=("agent_framework",), providers=("anthropic", "claude")
        ),
    ),
    not_providers=("microsoft.agent_framework", "agent_framework"),
    known=(
        "agent_framework.function.",
        "message.payload_type",
        "message.source_id",
        "message.target_id",
        "message.type",
        "workflow.",
        "executor.",
        "edge_group.",
    ),
    missing=(
        "Messages, arguments and results of tools are recorded only with sensitive data enabled.",
        "Session and user are not recorded.",
    ),
    enable="""\
export ENABLE_INSTRUMENTATION=true
export ENABLE_SENSITIVE_DATA=true
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
# in Python:
from agent_framework.observability import configure_otel_providers
configure_otel_providers()""",
)
