"""Haystack's own tracing.

Source: haystack-ai 3.4.
"""

from __future__ import annotations

from tracejury.dialects.rules import LEGACY, MARK, Dialect, KindRule, NameRule, attrs, inside

_REPLY = "haystack.agent.step.llm.output"

DIALECT = Dialect(
    name="haystack",
    scopes=("haystack",),
    prefixes=("haystack.",),
    kinds=(
        KindRule("haystack.tool.name", MARK, always="tool"),
        KindRule("haystack.agent.step.llm.input", MARK, always="llm"),
    ),
    names=(
        NameRule(r"haystack\.pipeline\.run", "workflow"),
        NameRule(r"haystack\.agent\.run", "agent"),
        NameRule(r"haystack\.component\.run|haystack\.agent\.step", "step"),
        NameRule(r"haystack\.agent\.step\.llm", "llm"),
        NameRule(r"haystack\.tracing\..+", "event"),
    ),
    rules=(
        *attrs("input", LEGACY + 76, "haystack.agent.step.llm.input", "haystack.agent.input"),
        *attrs("input", LEGACY + 78, "haystack.pipeline.input_data"),
        *attrs("output", LEGACY + 76, _REPLY, "haystack.agent.output"),
        *attrs("output", LEGACY + 78, "haystack.pipeline.output_data"),
        *attrs("tool_name", LEGACY + 76, "haystack.tool.name"),
        *attrs("tool_arguments", LEGACY + 76, "haystack.agent.step.tool.input", kinds="tool"),
        *attrs("tool_result", LEGACY + 76, "haystack.agent.step.tool.output", kinds="tool"),
        *attrs("failed", LEGACY + 76, "haystack.tool.error", kinds="tool"),
        *inside("model", LEGACY + 76, _REPLY, "replies.0.meta.model"),
        *inside("input_tokens", LEGACY + 76, _REPLY, "replies.0.meta.usage.prompt_tokens"),
        *inside("output_tokens", LEGACY + 76, _REPLY, "replies.0.meta.usage.completion_tokens"),
    ),
)
