"""What scripts and webhooks are given."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.corpus import assemble_case, case_names
from tracejury.testing import (
    START_NS,
    make_llm_call,
    make_message,
    make_tool_call,
    make_trace,
    make_usage,
)
from tracejury.trace import Cost, Flags, Message, Part, Trace
from tracejury_evaluators.payload import (
    MAX_PAYLOAD_BYTES,
    PayloadCriteria,
    payload_bytes,
    payload_of,
)

PAGE = (Path(__file__).parents[2] / "docs" / "evaluators" / "process.md").read_text("utf-8")
FIELDS = [
    "question",
    "expected_outcome",
    "reference_answer",
    "candidate_answer",
    "guideline_files",
    "input_files",
    "input_messages",
    "output_messages",
    "trace_summary",
    "tracejury",
]
SUMMARY = [
    "event_count",
    "tool_names",
    "tool_calls_by_name",
    "error_count",
    "token_usage",
    "cost_usd",
    "duration_ms",
]


def asking(*ids: str, text: str = "") -> Message:
    """An assistant's message that asks for these tool calls."""
    parts = [Part(type="text", text=text)] if text else []
    return Message(
        role="assistant", parts=(*parts, *(Part(type="tool_call", id=id_) for id_ in ids))
    )


def calls_of(payload: dict[str, Any]) -> list[list[str]]:
    return [[call["tool"] for call in m["tool_calls"]] for m in payload["output_messages"]]


def test_the_page_shows_the_payload_of_a_run() -> None:
    trace = make_trace(
        input_tokens=120,
        output_tokens=30,
        tool_calls=[
            make_tool_call(
                "get_weather", {"city": "Paris"}, {"degrees": 18}, id="call-1", start_ns=START_NS
            )
        ],
        messages=(
            make_message("user", "What is the weather in Paris?"),
            asking("call-1"),
            make_message("assistant", "It is 18 degrees in Paris."),
        ),
    )
    (shown, *_) = re.findall(r"^```json\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert payload_of(trace) == json.loads(shown)


def test_every_field_is_there_where_nothing_was_recorded() -> None:
    assert_complete(Trace(trace_id="0" * 32))


@pytest.mark.parametrize("name", case_names())
def test_every_field_is_there_whatever_framework_recorded(name: str) -> None:
    for trace in assemble_case(name):
        assert_complete(trace)


def assert_complete(trace: Trace) -> None:
    """Every field is there, every tool call stands once, and the answer at the end."""
    payload = payload_of(trace)
    assert list(payload) == FIELDS
    assert list(payload["trace_summary"]) == SUMMARY
    assert list(payload["trace_summary"]["token_usage"]) == ["input", "output"]
    assert all(isinstance(payload[name], str) for name in FIELDS[:4])
    given = [call for message in payload["output_messages"] for call in message["tool_calls"]]
    assert len(given) == len(trace.tool_calls)
    for call in given:
        assert list(call)[:5] == ["tool", "input", "output", "id", "timestamp"]
    if trace.output_text:
        assert payload["output_messages"][-1]["content"] == trace.output_text


def test_criteria_are_handed_over_and_go_before_the_question_asked() -> None:
    criteria = PayloadCriteria(
        question="Paris?",
        expected_outcome="names degrees",
        reference_answer="18",
        guideline_files=("a.md",),
        input_files=("b.csv",),
    )
    payload = payload_of(make_trace(), criteria)
    assert {name: payload[name] for name in criteria.model_dump()} == {
        "question": "Paris?",
        "expected_outcome": "names degrees",
        "reference_answer": "18",
        "guideline_files": ["a.md"],
        "input_files": ["b.csv"],
    }


def test_the_conversation_is_parted_at_the_question() -> None:
    earlier = [make_message("user", "Hi"), make_message("assistant", "Hello")]
    trace = make_trace(
        messages=(
            make_message("system", "Be brief."),
            *earlier,
            make_message("user", "What is the weather in Paris?"),
            make_message("assistant", "It is 18 degrees in Paris."),
        )
    )
    payload = payload_of(trace)
    assert [m["content"] for m in payload["input_messages"]] == [
        "Be brief.",
        "Hi",
        "Hello",
        "What is the weather in Paris?",
    ]
    assert [m["content"] for m in payload["output_messages"]] == ["It is 18 degrees in Paris."]


def test_each_call_stands_once_where_it_was_asked_for() -> None:
    trace = make_trace(
        tool_calls=[
            make_tool_call("first", id="a"),
            make_tool_call("unasked"),
            make_tool_call("second", id="b"),
            make_tool_call("second", id="b", attempt=2),
            make_tool_call("unknown id", id="z"),
        ],
        messages=(
            make_message("user", "What is the weather in Paris?"),
            asking("a", text="Looking."),
            make_message("tool", "ok"),
            asking("b", "a"),
            make_message("assistant", "It is 18 degrees in Paris."),
        ),
    )
    assert calls_of(payload_of(trace)) == [
        ["first"],
        ["second", "second"],
        ["unasked", "unknown id"],
        [],
    ]


def test_a_failed_call_says_why() -> None:
    payload = payload_of(make_trace(tool_calls=[make_tool_call("book", error="sold out")]))
    assert payload["output_messages"][0]["tool_calls"] == [
        {
            "tool": "book",
            "input": {},
            "output": None,
            "id": "",
            "timestamp": "",
            "error": "sold out",
        }
    ]


def test_the_summary_counts_models_and_tools() -> None:
    trace = make_trace(
        llm_calls=[make_llm_call(), make_llm_call()],
        tool_calls=["search", "fetch", "search"],
        cost=Cost(usd=0.0015),
        usage=make_usage(1000, 500),
        latency_ms=3500,
        error_count=2,
    )
    assert payload_of(trace)["trace_summary"] == {
        "event_count": 5,
        "tool_names": ["fetch", "search"],
        "tool_calls_by_name": {"search": 2, "fetch": 1},
        "error_count": 2,
        "token_usage": {"input": 1000, "output": 500},
        "cost_usd": 0.0015,
        "duration_ms": 3500.0,
    }


def test_what_was_not_recorded_is_null_and_what_is_lacking_is_said() -> None:
    trace = Trace(trace_id="0" * 32, flags=Flags(truncated=True))
    summary = payload_of(trace)["trace_summary"]
    assert (summary["cost_usd"], summary["duration_ms"]) == (None, None)
    assert payload_of(trace)["tracejury"]["flags"]["truncated"] is True


def test_values_that_json_cannot_hold_are_told_as_text() -> None:
    deep: Any = "bottom"
    for _ in range(500):
        deep = [deep]
    arguments = {"nan": float("nan"), "huge": 10**5000, "half": "\ud800", 1: {"a"}, "deep": deep}
    payload = payload_of(make_trace(tool_calls=[make_tool_call("odd", arguments)]))
    (call,) = payload["output_messages"][0]["tool_calls"]
    assert call["input"]["nan"] == "nan"
    assert call["input"]["huge"].startswith("0x")
    assert call["input"]["half"] == "?"
    assert call["input"]["1"] == ["a"]
    assert json.dumps(call["input"]["deep"]).count("[") < 65


@pytest.mark.parametrize(
    ("trace", "cut"),
    [
        (lambda: make_trace(output="é" * 5_000_000), ["candidate_answer", "output_messages"]),
        (lambda: make_trace(tool_calls=["search"] * 60_000), ["output_messages"]),
        pytest.param(
            lambda: make_trace(
                tool_calls=[make_tool_call(f"{n:0500}", [[[n] * 9] * 9] * 9) for n in range(9_000)]
            ),
            ["output_messages", "trace_summary"],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["a long answer", "many calls", "many calls with many values"],
)
def test_what_is_too_large_is_cut_and_named(trace: Callable[[], Trace], cut: list[str]) -> None:
    data = payload_bytes(trace())
    assert len(data) <= MAX_PAYLOAD_BYTES
    assert json.loads(data)["tracejury"]["cut"] == cut


def test_lists_that_are_cut_keep_their_ends() -> None:
    calls = [make_tool_call(f"tool-{n}", output="x" * 1_000) for n in range(9_000)]
    trace = replace(make_trace(tool_calls=calls), messages=())
    names = [call["tool"] for call in payload_of(trace)["output_messages"][0]["tool_calls"]]
    assert (names[0], names[-1]) == ("tool-0", "tool-8999")
    assert len(names) < 9_000
