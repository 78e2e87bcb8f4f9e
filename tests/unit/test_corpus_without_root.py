"""A killed process sends no root: what its other spans hold is rebuilt all the same."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.helpers.corpus import CORPUS, NOT_RECORDED, case_names, read_case, read_expected
from tests.helpers.differences import differences
from tracejury.assemble import assemble
from tracejury.trace import SpanRecord
from tracejury.view import trace_to_api

# Facts that only the root holds.
ONLY_ON_ROOT = {
    "claude_code_mcp": {"turns"},
    "openlit_v1_33": {"turns"},
    "pydantic_ai_2024": {"tool_calls", "turns", "models"},
    "trulens": {"turns", "input_tokens", "output_tokens"},
    "voltagent": {"turns", "input_tokens", "output_tokens"},
    "genai_anthropic": {"tool_calls", "turns"},
    "litellm_otel": {
        *("tool_calls", "turns", "models", "user_id"),
        *("input_tokens", "output_tokens"),
    },
    "lmnr_sdk": {"session_id", "user_id"},
    "logfire_openai_agents": {"session_id", "user_id"},
    "oi_agno": {"session_id", "user_id"},
    "oi_agno_err": {"session_id", "user_id"},
    "oi_crewai": {"turns"},
    "oi_smolagents": {"turns"},
    "strands_v0": {"session_id", "user_id"},
}


def without_roots(spans: list[SpanRecord]) -> list[list[SpanRecord]]:
    """The spans by trace, without those that have no parent in it; lone spans stay."""
    ids = {span.span_id for span in spans}
    traces: dict[str, list[SpanRecord]] = defaultdict(list)
    for span in spans:
        traces[span.trace_id].append(span)
    return [
        trace if len(trace) == 1 else [span for span in trace if span.parent_span_id in ids]
        for trace in traces.values()
    ]


def rebuilt(name: str) -> list[dict[str, Any]]:
    spans, logs = read_case(CORPUS / "captures" / name)
    return [
        trace_to_api(assemble(trace, [log for log in logs if log.trace_id == trace[0].trace_id]))
        for trace in without_roots(spans)
    ]


@pytest.mark.parametrize("name", case_names())
def test_a_run_without_its_root_keeps_the_facts_of_its_other_spans(name: str) -> None:
    left_out = ONLY_ON_ROOT.get(name, set()) | {key for case, key in NOT_RECORDED if case == name}
    expected = {key: fact for key, fact in read_expected(name).items() if key not in left_out}
    assert differences(expected, rebuilt(name)) == []
