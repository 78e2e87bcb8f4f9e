"""Pydantic AI and Logfire, instrumentation versions 1 to 6.

Source: pydantic-ai v0.0.20 to 2.68, logfire-sdk 5.4.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EVENT,
    GENERIC,
    LEGACY,
    Dialect,
    NameRule,
    attrs,
    inside,
)

DIALECT = Dialect(
    name="pydantic_ai",
    scopes=("pydantic-ai",),
    prefixes=("pydantic_ai.",),
    names=(
        NameRule(r"agent run", "agent"),
        NameRule(r"running tool(?:: (.+))?", "tool"),
        NameRule(r"running \d+ tools?", "step"),
        NameRule(r"running output function(?:: (.+))?", "step", overrides=True),
        NameRule(r"(?:Agent run|Agent trace).*", "agent"),
        NameRule(r"Function: (.+)", "tool"),
        NameRule(r"Handoff: (.+)", "handoff", overrides=True),
        NameRule(r"(?:Chat Completion|Responses API|Message) with .+", "llm"),
    ),
    rules=(
        *attrs("session_id", LEGACY + 70, "group_id"),
        *attrs("agent_name", LEGACY, "agent_name"),
        *attrs("model", CURRENT + 80, "model_name"),
        *attrs("input", CURRENT + 30, "pydantic_ai.all_messages", kinds="agent"),
        *attrs("input", EVENT + 20, "all_messages_events", kinds="agent"),
        *attrs("input", EVENT + 30, "events", kinds="llm"),
        *inside("input", LEGACY + 50, "request_data", "messages", "input", "contents"),
        *attrs("input", LEGACY + 55, "raw_input"),
        *attrs("final_output", CURRENT, "final_result"),
        *attrs("output", CURRENT + 20, "final_result", kinds="agent"),
        *attrs("output", CURRENT + 30, "pydantic_ai.all_messages", kinds="agent"),
        *attrs("output", EVENT + 20, "all_messages_events", kinds="agent"),
        *attrs("output", EVENT + 30, "events", kinds="llm"),
        *inside("output", LEGACY + 50, "response_data", "message", "combined_chunk_content"),
        *attrs("output", GENERIC + 15, "response", kinds="llm agent"),
        *attrs("message_offset", CURRENT, "pydantic_ai.new_message_index"),
        *inside("tool_definitions", LEGACY, "model_request_parameters", "function_tools"),
        *inside("tool_definitions", LEGACY + 1, "request_data", "tools"),
        *attrs("tool_name", GENERIC, "name", kinds="tool"),
        *attrs("tool_arguments", CURRENT + 30, "tool_arguments"),
        *attrs("tool_result", CURRENT + 30, "tool_response"),
        *attrs("cost_usd", CURRENT - 10, "operation.cost"),
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
        *inside("request_model", LEGACY, "request_data", "model"),
        *inside("model", CURRENT + 85, "request_data", "model"),
    ),
    answer_tools=(r"final_result(?:_\w+)?",),
)
