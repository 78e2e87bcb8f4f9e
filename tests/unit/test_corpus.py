"""Traces of real frameworks are rebuilt with the facts that really happened."""

from __future__ import annotations

import copy
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
from tracejury.view import trace_to_api


@pytest.mark.parametrize("name", case_names())
def test_a_recorded_case_is_rebuilt_as_it_happened(name: str) -> None:
    expected = read_expected(name)
    for case, key in NOT_RECORDED:
        if case == name:
            del expected[key]
    traces = [trace_to_api(trace) for trace in assemble_case(name)]
    assert differences(expected, traces) == []


@pytest.mark.parametrize(("name", "key"), NOT_RECORDED)
def test_what_is_excepted_is_really_not_recorded(name: str, key: str) -> None:
    attribute, recorded = NOT_RECORDED[name, key]
    spans, _ = read_case(CORPUS / "captures" / name)
    assert {s.attributes[attribute] for s in spans if attribute in s.attributes} == {recorded}
    everything = repr([(span.name, span.attributes, span.events, span.resource) for span in spans])
    for fact in read_expected(name)[key]:
        assert fact not in everything.replace(recorded, "")


def test_all_cases_are_there() -> None:
    assert len(case_names()) == 47


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
