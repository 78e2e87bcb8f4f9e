"""LiteLLM's callback for OpenTelemetry, in the SDK and in the proxy.

Source: litellm 1.106.2.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    LEGACY,
    OPERATION,
    VENDOR,
    Dialect,
    KindRule,
    NameRule,
    attrs,
    inside,
)

DIALECT = Dialect(
    name="litellm",
    label="LiteLLM",
    source="litellm 1.106.2",
    scopes=("litellm",),
    prefixes=("litellm.",),
    kinds=(
        KindRule(
            "gen_ai.operation.name",
            OPERATION,
            {
                **dict.fromkeys(("acompletion", "atext_completion", "aresponses"), "llm"),
                **dict.fromkeys(("aembedding", "embedding"), "embedding"),
                **dict.fromkeys(("arerank", "rerank"), "reranker"),
            },
        ),
    ),
    names=(
        NameRule(r"litellm_request", "llm"),
        NameRule(r"raw_gen_ai_request", "step"),
        NameRule(r"Received Proxy Server Request", "workflow"),
    ),
    rules=(
        *attrs("cost_usd", VENDOR, "gen_ai.cost.total_cost"),
        *inside("cost_usd", LEGACY, "hidden_params", "response_cost"),
        *attrs("user_id", LEGACY + 60, "metadata.user_api_key_end_user_id"),
        *attrs("request_model", CURRENT + 50, "litellm.provider.model"),
    ),
    known=(
        "litellm.",
        "gen_ai.cost.",
        "hidden_params",
        "metadata.",
        "llm.is_streaming",
        "llm.openai.",
        "llm.anthropic.",
    ),
    missing=(
        "Each call of a model is a trace of its own unless the caller has a span around it; the "
        "results of tools then stand only in the next call's messages.",
        "Session ids given as metadata are not recorded.",
        "CAPTURE_MESSAGE_CONTENT=true means EVENT_ONLY; without logs nothing is recorded then.",
    ),
    enable="""\
export OTEL_EXPORTER=otlp_http
export OTEL_ENDPOINT=http://127.0.0.1:4318/v1/traces
# SDK: litellm.callbacks = ["otel"]; proxy: litellm_settings: {callbacks: ["otel"]}""",
)
