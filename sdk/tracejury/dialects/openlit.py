"""OpenLIT.

Source: openlit 1.33 and 1.45.
"""

from __future__ import annotations

from tracejury.dialects.rules import GENERIC, LEGACY, CacheRule, Dialect, EventKey, Rule, attrs

# These pass on what the provider's API counts, and that leaves cached tokens out of the input.
_EXCLUSIVE = ("openlit.instrumentation.anthropic", "openlit.instrumentation.bedrock")

DIALECT = Dialect(
    name="openlit",
    label="OpenLIT",
    source="openlit 1.33 and 1.45",
    scopes=("openlit",),
    sdks=("openlit",),
    rules=(
        *attrs("input", GENERIC + 40, "gen_ai.workflow.input"),
        *attrs("output", GENERIC + 40, "gen_ai.workflow.output"),
        # Until 1.36, and without content, a reply that asks for tools has no message.
        *attrs("output", GENERIC + 50, "gen_ai.tool.name", kinds="llm", guard="joined"),
        *attrs("tool_arguments", LEGACY + 80, "function.kwargs"),
        # Until 1.33 the prompt is one text: a line per message.
        Rule(
            "input",
            EventKey("gen_ai.content.prompt", "gen_ai.prompt"),
            LEGACY + 39,
            guard="transcript",
        ),
    ),
    cache=(
        CacheRule(basis="exclusive", scopes=_EXCLUSIVE),
        CacheRule(basis="inclusive", scopes=("openlit.instrumentation.",)),
    ),
    not_providers=("langgraph", "openai_agents", "llamaindex", "haystack", "dspy"),
    known=(
        "function.",
        "gen_ai.application_name",
        "gen_ai.client.token.usage",
        "gen_ai.endpoint",
        "gen_ai.environment",
        "gen_ai.execution.mode",
        "gen_ai.graph.",
        "gen_ai.sdk.version",
        "gen_ai.server.",
        "openlit.",
    ),
    missing=(
        "Of a reply of OpenAI's Responses API only the last tool call is recorded, and no results.",
        "Functions traced with `@openlit.trace` have no kind: a tool among them is recognized by "
        "the model's request for it.",
        "For Anthropic models called by LangChain the cached tokens are not recorded.",
        "There is no place for session and user, except in LangGraph (its thread).",
    ),
    enable="""\
pip install openlit
# then, in the agent's program:
import openlit

openlit.init(otlp_endpoint="http://127.0.0.1:4318", capture_message_content=True)
""",
)
