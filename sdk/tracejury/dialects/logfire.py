"""Logfire's own integrations: model SDKs, OpenAI Agents, MCP.

Source: logfire-sdk 3.8 to 5.4.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    EVENT,
    EXPLICIT,
    GENERIC,
    LEGACY,
    CacheRule,
    Dialect,
    KindRule,
    NameRule,
    attrs,
    inside,
)
from tracejury.trace import SpanKind

_MCP_METHODS: Final[dict[str, SpanKind]] = {
    "tools/call": "tool",
    **dict.fromkeys(
        (
            "initialize",
            "ping",
            "tools/list",
            "resources/list",
            "resources/read",
            "resources/templates/list",
            "prompts/list",
            "prompts/get",
            "completion/complete",
            "logging/setlevel",
            "sampling/createmessage",
        ),
        "mcp",
    ),
}
_CACHE_READ = (
    "cache_read_input_tokens",
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
)
_REASONING = (
    "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
)

DIALECT = Dialect(
    name="logfire",
    label="Logfire",
    source="logfire-sdk 5.4",
    scopes=("logfire",),
    prefixes=("logfire.",),
    kinds=(KindRule("rpc.method", EXPLICIT, _MCP_METHODS),),
    names=(
        NameRule(r"(?:Agent run|Agent trace).*", "agent"),
        NameRule(r"Function: (.+)", "tool"),
        NameRule(r"Handoff: (.+)", "handoff", overrides=True),
        NameRule(r"(?:Chat Completion|Responses API|Message) with .+", "llm"),
        NameRule(r"MCP request: tools/call (.+)", "tool"),
        NameRule(r"MCP server handle request: tools/call", "tool"),
        NameRule(r"MCP (?:request|server handle request|client handle request): .+", "mcp"),
    ),
    rules=(
        *attrs("session_id", LEGACY + 70, "group_id"),
        *attrs("input", EVENT + 30, "events", kinds="llm"),
        *inside("input", LEGACY + 50, "request_data", "messages", "input", "contents"),
        *attrs("input", LEGACY + 55, "raw_input"),
        *inside("system", LEGACY, "request_data", "system", "instructions"),
        *attrs("output", EVENT + 30, "events", kinds="llm"),
        *inside("output", LEGACY + 50, "response_data", "message", "combined_chunk_content"),
        *attrs("output", GENERIC + 15, "response", kinds="llm agent"),
        *inside("tool_definitions", LEGACY + 1, "request_data", "tools"),
        *attrs("tool_name", GENERIC, "name", kinds="tool"),
        *inside("tool_name", LEGACY + 10, "request", "params.name", kinds="tool"),
        *inside("tool_arguments", LEGACY + 10, "request", "params.arguments", kinds="tool"),
        *attrs("tool_result", LEGACY + 10, "response", kinds="tool"),
        *inside("failed", LEGACY + 10, "response", "isError", kinds="tool"),
        *inside(
            "input_tokens", LEGACY, "response_data", "usage.prompt_tokens", "usage.input_tokens"
        ),
        *inside(
            "output_tokens",
            LEGACY,
            "response_data",
            "usage.completion_tokens",
            "usage.output_tokens",
        ),
        *inside("cache_read_tokens", LEGACY, "response_data", "usage.cache_read_input_tokens"),
        *inside("cache_read_tokens", LEGACY + 1, "gen_ai.usage.raw", *_CACHE_READ),
        *inside("cache_write_tokens", LEGACY, "response_data", "usage.cache_creation_input_tokens"),
        *inside(
            "cache_write_tokens", LEGACY + 1, "gen_ai.usage.raw", "cache_creation_input_tokens"
        ),
        *inside("reasoning_tokens", LEGACY + 1, "gen_ai.usage.raw", *_REASONING),
        *attrs("response_id", LEGACY, "response_id", kinds="llm"),
        *inside("request_model", LEGACY, "request_data", "model"),
        *inside("model", CURRENT + 85, "request_data", "model"),
    ),
    cache=(
        CacheRule(basis="inclusive", scopes=("logfire",), present=("gen_ai.usage.raw",)),
        CacheRule(
            basis="exclusive",
            scopes=("logfire",),
            absent=("gen_ai.usage.input_tokens",),
            providers=("anthropic", "claude"),
        ),
    ),
    known=(
        *("agent_trace_id", "code.", "logfire.", "mcp_data", "model_settings", "output_type"),
        "thread.",
    ),
    missing=(
        "Of a reply that is streamed, the text stands in a span of its own beside the request.",
    ),
    enable="""\
import os, logfire
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:4318"
logfire.configure(send_to_logfire=False)
logfire.instrument_pydantic_ai()  # or instrument_openai(), instrument_openai_agents(), ...""",
)
