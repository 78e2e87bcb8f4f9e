"""Traces on which evaluators go wrong: what production sends and examples do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracejury.testing.build import (
    QUESTION,
    START_NS,
    make_document,
    make_llm_call,
    make_message,
    make_tool_call,
    make_trace,
)
from tracejury.trace import Flags, Part, SpanError, Trace

HUGE_CHARS = 300_000
MANY_CALLS = 300
MANY_TURNS = 20
NESTING = 60
HIDDEN = "not captured"
ODD_TEXT = (
    "naïve 日本語 🧑\u200d🚀 \u202eright to left\u202c e\u0301 İ ß \x00\x07\x1b[2J "
    "<b>&amp;</b> {{x}} %s \\"
)


def telling_traces() -> dict[str, Trace]:
    """Traces by what is special about them; every call gives fresh ones."""
    return {name: make() for name, make in _TELLING.items()}


def _usual() -> Trace:
    return make_trace(
        tool_calls=[make_tool_call("get_weather", {"city": "Paris"}, {"degrees": 18})],
        llm_calls=[make_llm_call(tools=["get_weather"])],
    )


def _hidden() -> Trace:
    """A run of which only the times are known; it took no time, so that no budget is passed."""
    return make_trace(
        input="",
        output="",
        latency_ms=0.0,
        flags=Flags(not_captured=True),
        llm_calls=[
            make_llm_call(input=(), output=(), input_tokens=None, output_tokens=None, latency_ms=0)
        ],
    )


def _cut() -> Trace:
    return make_trace(
        output='{"city": "Par',
        flags=Flags(truncated=True),
        tool_calls=[make_tool_call("get_weather", '{"city": "Par', "18 degr")],
    )


def _failed() -> Trace:
    error = SpanError(type="RateLimitError", message="429", stack="Traceback …")
    return make_trace(
        output="",
        has_error=True,
        tool_calls=[
            make_tool_call("get_weather", {"city": "Paris"}, error="no such city"),
            make_tool_call("get_weather", {"city": "Lutetia"}, error=SpanError()),
        ],
        llm_calls=[make_llm_call(output=(), error=error, output_tokens=0)],
    )


def _odd_text() -> Trace:
    return make_trace(
        input=ODD_TEXT,
        output=ODD_TEXT,
        tool_calls=[make_tool_call(ODD_TEXT, {ODD_TEXT: ODD_TEXT}, ODD_TEXT)],
        documents=[make_document(ODD_TEXT, metadata={ODD_TEXT: [ODD_TEXT]})],
    )


def _odd_arguments() -> Trace:
    values: list[Any] = [None, "", "plain text", 0, -1.5, True, [], [[1], None], 10**30]
    return make_trace(
        tool_calls=[make_tool_call("odd", value, value) for value in values]
        + [make_tool_call("", {}), make_tool_call("deep", nested(NESTING), nested(NESTING))]
    )


def nested(levels: int) -> dict[str, Any]:
    """An object inside an object, so many levels deep."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"inner": value}
    return value


def _requested_only() -> Trace:
    """A call that the model asked for and whose run left no span."""
    request = make_message("assistant")
    part = Part(type="tool_call", id="call_1", name="get_weather", arguments={"city": "Paris"})
    call = make_tool_call(
        "get_weather",
        {"city": "Paris"},
        None,
        id="call_1",
        source="message",
        requested_by_span_id="llm-1",
        latency_ms=None,
    )
    answer = type(request)(role="assistant", parts=(part,))
    return make_trace(tool_calls=[call], llm_calls=[make_llm_call(output=[answer])])


def _many_turns() -> Trace:
    turns = [(f"question {n}", f"answer {n}") for n in range(1, MANY_TURNS + 1)]
    return make_trace(turns=turns, session_id="chat-17")


def _huge() -> Trace:
    text = "lorem ipsum dolor 1234 " * (HUGE_CHARS // 23)
    return make_trace(
        input=text,
        output=text,
        tool_calls=[make_tool_call("fetch", {"text": text}, text)],
        llm_calls=[make_llm_call(input=[QUESTION, make_message("user", text)])],
    )


def _many_calls() -> Trace:
    return make_trace(
        tool_calls=[
            make_tool_call(f"tool_{n % 7}", {"n": n}, n, start_ns=START_NS + n)
            for n in range(MANY_CALLS)
        ]
    )


_TELLING: Mapping[str, Callable[[], Trace]] = {
    "usual": _usual,
    "empty": lambda: Trace(trace_id="0" * 31 + "1"),
    "no tools": make_trace,
    "no answer": lambda: make_trace(output="", llm_calls=[make_llm_call(output=())]),
    "blank": lambda: make_trace(input=" \n", output=" \n\t"),
    HIDDEN: _hidden,
    "redacted": lambda: make_trace(output="[REDACTED]", flags=Flags(redacted=True)),
    "truncated": _cut,
    "errors": _failed,
    "odd text": _odd_text,
    "odd arguments": _odd_arguments,
    "requested only": _requested_only,
    "documents": lambda: make_trace(documents=["Paris is mild.", "", "Rome is warm."]),
    "many turns": _many_turns,
    "many tools": _many_calls,
    "huge": _huge,
    "unfinished": lambda: make_trace(output="", end_ns=0, turns=[("Weather?", "")]),
    "setup": lambda: Trace(trace_id="0" * 31 + "2", kind="setup", start_ns=1, end_ns=2),
}
