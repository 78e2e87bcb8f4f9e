"""LangSmith's OpenTelemetry exporter.

Source: langsmith 0.4 to 0.15.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    LEGACY,
    CacheRule,
    Dialect,
    KindRule,
    attrs,
    inside,
)

_META = "langsmith.metadata."
# What the wrapper around Anthropic recorded until 0.4: reads and writes of the cache in one.
_WRAPPED = "message.usage_metadata.input_token_details.cache_read"
_USAGE = _META + "usage_metadata"
_DETAILS = "gen_ai.usage.input_token_details"

DIALECT = Dialect(
    name="langsmith",
    label="LangSmith OpenTelemetry exporter",
    source="langsmith 0.4 to 0.15",
    scopes=("langsmith",),
    prefixes=("langsmith.",),
    kinds=(
        KindRule(
            "langsmith.span.kind",
            EXPLICIT,
            {
                "llm": "llm",
                "chain": "workflow",
                "tool": "tool",
                "retriever": "retriever",
                "embedding": "embedding",
                "prompt": "prompt",
                "parser": "step",
            },
        ),
    ),
    rules=(
        *attrs(
            "session_id",
            LEGACY + 35,
            *(_META + key for key in ("session_id", "conversation_id", "thread_id")),
        ),
        *attrs("user_id", LEGACY + 35, _META + "user_id"),
        *attrs("agent_name", LEGACY + 35, _META + "lc_agent_name"),
        *attrs("provider", LEGACY + 35, _META + "ls_provider"),
        *attrs("request_model", LEGACY + 35, _META + "ls_model_name"),
        *inside(
            "model",
            LEGACY + 36,
            "gen_ai.completion",
            "llm_output.model_name",
            "generations.0.0.message.kwargs.response_metadata.model_name",
            kinds="llm",
        ),
        *attrs("tool_arguments", LEGACY + 35, "gen_ai.prompt", kinds="tool"),
        # Until 0.4 inputs and outputs were sent as bytes.
        *attrs("input", LEGACY + 35, "gen_ai.prompt", guard="base64"),
        *attrs("output", LEGACY + 35, "gen_ai.completion", guard="base64"),
        *attrs("tool_arguments", LEGACY + 33, "gen_ai.prompt", kinds="tool", guard="base64"),
        *attrs("tool_result", LEGACY + 34, "gen_ai.completion", kinds="tool", guard="base64"),
        # What is no object is recorded as `{"output": ...}`.
        *inside(
            "tool_result", LEGACY + 33, "gen_ai.completion", "output", kinds="tool", guard="sole"
        ),
        *attrs("tool_result", LEGACY + 35, "gen_ai.completion", kinds="tool"),
        *inside("query", LEGACY + 35, "gen_ai.prompt", "query", "input", kinds="retriever"),
        *attrs("documents", LEGACY + 35, "gen_ai.completion", kinds="retriever"),
        *inside("tool_definitions", LEGACY + 35, "gen_ai.prompt", "tools", kinds="llm"),
        *inside("input_tokens", CURRENT + 22, _USAGE, "input_tokens", kinds="llm"),
        *inside("output_tokens", CURRENT + 22, _USAGE, "output_tokens", kinds="llm"),
        *inside("cache_read_tokens", CURRENT + 20, _DETAILS, "cache_read"),
        *inside("cache_read_tokens", CURRENT + 21, "gen_ai.completion", _WRAPPED, kinds="llm"),
        *inside(
            "cache_read_tokens",
            CURRENT + 22,
            _USAGE,
            "input_token_details.cache_read",
            kinds="llm",
        ),
        *inside("cache_write_tokens", CURRENT + 20, _DETAILS, "cache_creation"),
        *inside(
            "cache_write_tokens",
            CURRENT + 22,
            _USAGE,
            "input_token_details.cache_creation",
            kinds="llm",
        ),
        *inside("reasoning_tokens", CURRENT + 20, "gen_ai.usage.output_token_details", "reasoning"),
    ),
    cache=(
        CacheRule(basis="inclusive", scopes=("langsmith",), present=(_DETAILS,)),
        CacheRule(basis="inclusive", scopes=("langsmith",), present=(_USAGE,)),
        CacheRule(
            basis="exclusive",
            scopes=("langsmith",),
            absent=(_DETAILS,),
            providers=("anthropic", "claude"),
        ),
    ),
    known=("langsmith.", "gen_ai.serialized."),
    missing=(
        "LangSmith writes its own spans; those of other libraries stand in other traces.",
        "The project (`langsmith.trace.session_name`) is no session: put `session_id` or "
        "`thread_id` into the metadata.",
    ),
    enable="""\
pip install 'langsmith[otel]'
export LANGSMITH_TRACING=true LANGSMITH_OTEL_ENABLED=true LANGSMITH_OTEL_ONLY=true
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export LANGSMITH_API_KEY=unused   # any text: nothing is sent to LangSmith
""",
)
