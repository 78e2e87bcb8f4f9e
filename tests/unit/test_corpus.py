"""Traces of real frameworks are rebuilt with the facts that really happened."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.helpers.corpus import (
    CORPUS,
    NOT_RECORDED,
    assemble_case,
    case_names,
    read_case,
    read_expected,
)
from tests.helpers.differences import differences, same_data
from tracejury.trace import SpanRecord
from tracejury.view import trace_to_api


@pytest.mark.parametrize("name", case_names())
def test_a_recorded_case_is_rebuilt_as_it_happened(name: str) -> None:
    expected = read_expected(name)
    for case, key in NOT_RECORDED:
        if case == name:
            del expected[key]
    traces = [trace_to_api(trace) for trace in assemble_case(name)]
    assert differences(expected, traces) == []


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("langfuse_sdk", "langfuse.observation.model.name"),
        ("oi_autogen", "llm.model_name"),
    ],
)
def test_of_the_model_only_the_dated_name_is_recorded(name: str, attribute: str) -> None:
    spans, _ = read_case(CORPUS / "captures" / name)
    recorded = {s.attributes[attribute] for s in spans if attribute in s.attributes}
    assert recorded == {"gpt-4o-2024-08-06"}
    everything = repr([(span.name, span.attributes, span.events, span.resource) for span in spans])
    assert read_expected(name)["models"] == ["gpt-4o"]
    assert "gpt-4o" not in everything.replace("gpt-4o-2024-08-06", "")


def test_no_trace_of_autogen_holds_a_question_and_its_answer() -> None:
    spans, _ = read_case(CORPUS / "captures" / "autogen_native")
    turns = read_expected("autogen_native")["turns"]
    for turn in turns:
        holding = [
            {s.trace_id for s in spans if json.dumps(turn[side])[1:-1] in repr_json(s)}
            for side in ("input", "output")
        ]
        assert all(holding)
        assert not holding[0] & holding[1]


def repr_json(span: SpanRecord) -> str:
    """The attributes of a span as text, JSON inside them as it was recorded."""
    return "\n".join(str(value) for value in span.attributes.values())


def test_all_cases_are_there() -> None:
    assert len(case_names()) == 87


class TestDifferences:
    """The comparison finds each kind of wrong fact."""

    @pytest.fixture
    def case(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        traces = [trace_to_api(trace) for trace in assemble_case("oi_langgraph")]
        return read_expected("oi_langgraph"), copy.deepcopy(traces)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("input_tokens", 798),
            ("output_tokens", None),
            ("models", ["gpt-4"]),
            ("session_id", "other"),
            ("user_id", ""),
            ("error", True),
        ],
    )
    def test_a_wrong_fact_is_found(
        self, case: tuple[dict[str, Any], list[dict[str, Any]]], key: str, value: Any
    ) -> None:
        expected, traces = case
        assert len(differences({**expected, key: value}, traces)) == 1

    def test_a_call_too_many_is_found(
        self, case: tuple[dict[str, Any], list[dict[str, Any]]]
    ) -> None:
        expected, traces = case
        traces[0]["tool_calls"].append(traces[0]["tool_calls"][0])
        assert differences(expected, traces)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("name", "other"),
            ("arguments", {}),
            ("arguments", None),
            ("output", "no"),
            ("error", {"type": "", "message": ""}),
        ],
    )
    def test_a_wrong_call_is_found(
        self, case: tuple[dict[str, Any], list[dict[str, Any]]], key: str, value: Any
    ) -> None:
        expected, traces = case
        traces[0]["tool_calls"][1][key] = value
        assert differences(expected, traces)

    def test_calls_of_one_turn_may_come_in_any_order_but_not_those_of_two(
        self, case: tuple[dict[str, Any], list[dict[str, Any]]]
    ) -> None:
        expected, traces = case
        first, second = (call["start_time"] for call in traces[0]["tool_calls"])
        traces[0]["tool_calls"][0]["start_time"] = second
        traces[0]["tool_calls"][1]["start_time"] = first
        assert differences(expected, traces) == []
        traces[1]["tool_calls"][0]["start_time"] = "2000-01-01T00:00:00.000000000Z"
        assert differences(expected, traces)

    def test_a_missing_turn_is_found(
        self, case: tuple[dict[str, Any], list[dict[str, Any]]]
    ) -> None:
        expected, traces = case
        assert differences(expected, traces[:1])

    def test_an_answer_to_another_question_is_found(
        self, case: tuple[dict[str, Any], list[dict[str, Any]]]
    ) -> None:
        expected, traces = case
        one, other = traces
        one["output_text"], other["output_text"] = other["output_text"], one["output_text"]
        one["turns"], other["turns"] = [], []
        assert differences(expected, traces)


def test_json_text_equals_its_value() -> None:
    assert same_data('[{"id": 1}]', [{"id": 1}])
    assert not same_data('[{"id": 1}]', [{"id": 2}])
    assert not same_data("a", None)
