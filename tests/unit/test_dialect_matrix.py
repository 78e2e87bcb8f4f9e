"""One run comes to the same trace, whoever recorded it and however it was encoded."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from typing import Any

import pytest

from tests.helpers.dialect_cases import DialectCase, dialect_cases, trace_facts
from tests.helpers.rearrival import arrivals_of, rebuilt
from tracejury_collector.config import Limits
from tracejury_collector.receive.otlp import decode

WHAT_HAPPENED = ("kind", "input_text", "output_text", "session_id", "has_error", "documents")
OF_A_CALL = ("name", "arguments", "output", "error", "source")
TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def variants() -> dict[str, list[DialectCase]]:
    """The cases of the matrix that tell of one run, by the words before the colon."""
    found: dict[str, list[DialectCase]] = defaultdict(list)
    for case in dialect_cases():
        if case.dialect == "matrix" and ": " in case.name:
            found[case.name.partition(": ")[0]].append(case)
    return found


def happened(case: DialectCase) -> dict[str, Any]:
    """What a reader of the trace learns, without who recorded it and when."""
    trace = trace_facts(case)
    return {
        **{key: trace[key] for key in WHAT_HAPPENED},
        "tool_calls": [{key: call[key] for key in OF_A_CALL} for call in trace["tool_calls"]],
        "turns": [(turn["input"], turn["output"]) for turn in trace["turns"]],
        "usage": trace["usage"],
        "models": trace["models"],
    }


@pytest.mark.parametrize("cases", variants().values(), ids=variants())
def test_variants_of_one_run_come_to_the_same_trace(cases: list[DialectCase]) -> None:
    assert len(cases) > 1
    first = happened(cases[0])
    assert {case.name: happened(case) for case in cases} == {case.name: first for case in cases}


def json_traces(span: dict[str, Any]) -> dict[str, Any]:
    """The trace of a span in OTLP/JSON, through the receiver's decoder."""
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    found = decode("traces", "json", body, Limits())
    assert (found.rejected, found.message) == (0, "")
    assert found.table is not None
    (trace,) = rebuilt(arrivals_of([("traces", found.table)])).values()
    return trace


def chat_span(**changes: Any) -> dict[str, Any]:
    """A model call in OTLP/JSON as the specification wants it."""
    return {
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "name": "chat gpt-4o",
        "kind": 3,
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000001000000000",
        "attributes": attributes({"intValue": "26"}, {"doubleValue": 0.5}),
        "status": {"code": 1},
        **changes,
    }


def attributes(tokens: dict[str, Any], temperature: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "gpt-4o"}},
        {"key": "gen_ai.usage.input_tokens", "value": tokens},
        {"key": "gen_ai.request.temperature", "value": temperature},
    ]


@pytest.mark.parametrize(
    "tokens",
    [{"intValue": 26}, {"doubleValue": 26.0}, {"stringValue": "26"}, {"stringValue": "26.0"}],
    ids=str,
)
def test_a_count_is_the_same_however_it_is_written(tokens: dict[str, Any]) -> None:
    usage = json_traces(chat_span(attributes=attributes(tokens, {"doubleValue": 0.5})))["usage"]
    assert usage == json_traces(chat_span())["usage"]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_does_no_harm(value: str) -> None:
    changed = chat_span(attributes=attributes({"doubleValue": value}, {"doubleValue": value}))
    trace = json_traces(changed)
    assert trace["usage"]["input_tokens"] is None
    assert json.dumps(trace, allow_nan=False)


def test_ids_in_base64_and_names_of_enums_are_understood() -> None:
    changed = chat_span(
        traceId=base64.b64encode(bytes.fromhex(TRACE_ID)).decode(),
        spanId=base64.b64encode(bytes.fromhex(SPAN_ID)).decode(),
        kind="SPAN_KIND_CLIENT",
        status={"code": "STATUS_CODE_OK"},
    )
    assert json_traces(changed) == json_traces(chat_span())


@pytest.mark.parametrize("key", ["gen_ai.conversation.id", "session.id", "langfuse.session.id"])
def test_three_traces_of_one_conversation_have_its_session(key: str) -> None:
    sessions = set()
    for number in range(1, 4):
        said = {"key": key, "value": {"stringValue": "s-1"}}
        span = chat_span(traceId=f"{number:032x}", attributes=[*chat_span()["attributes"], said])
        trace = json_traces(span)
        sessions.add((trace["trace_id"][-1], trace["session_id"]))
    assert sessions == {("1", "s-1"), ("2", "s-1"), ("3", "s-1")}
