"""Model Context Protocol.

Source: semantic-conventions v1.39 to v1.44, mcp 1.9 to 2.3, fastmcp 4.1.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    LEGACY,
    Dialect,
    KindRule,
    NameRule,
    attrs,
    inside,
)

DIALECT = Dialect(
    name="mcp",
    label="Model Context Protocol",
    source="semantic-conventions v1.44, mcp 2.3, fastmcp 4.1",
    scopes=("mcp-python-sdk", "fastmcp"),
    prefixes=("mcp.",),
    kinds=(KindRule("mcp.method.name", EXPLICIT, {"tools/call": "tool"}, always="mcp"),),
    names=(NameRule(r"(?:MCP send )?tools/call (.+)", "tool"),),
    rules=(
        *attrs("operation", CURRENT + 5, "mcp.method.name"),
        *attrs("session_id", LEGACY + 90, "mcp.session.id"),
        *attrs("tool_name", LEGACY, "mcp.tool.name"),
        *attrs("tool_arguments", LEGACY + 5, "mcp.request.argument"),
        *attrs("tool_result", LEGACY + 5, "mcp.response.value"),
        *attrs("failed", CURRENT + 1, "mcp.tool.result.is_error"),
        *inside("failed", LEGACY, "gen_ai.tool.call.result", "isError"),
        *inside("failed", LEGACY + 5, "mcp.response.value", "isError"),
    ),
    known=(
        "fastmcp.",
        "jsonrpc.",
        "mcp.protocol.version",
        "mcp.request.id",
        "mcp.resource.uri",
        "mcp.transport",
        "rpc.",
    ),
    missing=(
        "Spans of the SDK and of fastmcp hold no arguments and no results: they are taken from the "
        "span of the agent's tool call around them or from the model's messages.",
    ),
    enable="""\
# The SDK (mcp 2) and fastmcp emit spans as soon as a tracer provider is set:
pip install opentelemetry-distro opentelemetry-exporter-otlp
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
opentelemetry-instrument python server.py""",
)
