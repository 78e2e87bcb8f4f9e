"""Traces of many spans take steps in proportion, whatever their shape."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tracejury.assemble import assemble
from tracejury.assembly.toolspans import same_name
from tracejury.dialects.active import _remembered
from tracejury.trace import SpanRecord

FEW, TIMES = 250, 4
# Looking at every span for every span would take sixteen times the steps.
MOST_TIMES = 6.0


def span(number: int, parent: int = 0, **attributes: object) -> SpanRecord:
    return SpanRecord(
        trace_id="t",
        span_id=f"{number:016x}",
        parent_span_id=f"{parent:016x}" if parent else "",
        name="x",
        start_ns=number * 1000,
        end_ns=10**9 - number if parent == number - 1 else number * 1000 + 500,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        scope_name=f"library{number % 2}",
    )


def messages(role: str, text: str = "", **call: object) -> str:
    part = {"type": "tool_call", **call} if call else {"type": "text", "content": text}
    return json.dumps([{"role": role, "parts": [part]}])


def chat(number: int, parent: int = 0, **more: object) -> SpanRecord:
    return span(
        number,
        parent,
        gen_ai__operation__name="chat",
        gen_ai__request__model="m",
        gen_ai__usage__input_tokens=5,
        **more,
    )


def roots(count: int) -> list[SpanRecord]:
    """A run in every span."""
    return [chat(n, gen_ai__input__messages=messages("user", f"q{n}")) for n in range(1, count)]


def chain(count: int) -> list[SpanRecord]:
    """Every span inside the one before it; agents that report totals."""
    spans = []
    for number in range(1, count):
        operation = "chat" if number % 2 else "invoke_agent"
        spans.append(
            span(
                number,
                number - 1,
                gen_ai__operation__name=operation,
                gen_ai__usage__input_tokens=number,
            )
        )
    return spans


def tools_in_tools(count: int) -> list[SpanRecord]:
    """Every tool inside the one before it, recorded by two libraries in turn."""
    return [
        span(n, n - 1, gen_ai__operation__name="execute_tool", gen_ai__tool__name=f"t{n % 3}")
        for n in range(1, count)
    ]


def names(count: int) -> list[SpanRecord]:
    """As many names of tools as calls, and none of those that ran."""
    spans = []
    for number in range(1, count, 2):
        asked = messages("assistant", name=f"asked{number}", arguments={})
        spans.append(chat(number, gen_ai__output__messages=asked))
        spans.append(
            span(
                number + 1,
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__name=f"ran{number}",
            )
        )
    return spans


def unanswered(count: int) -> list[SpanRecord]:
    """Questions without answers, and then calls without either."""
    asked = [
        chat(n, gen_ai__input__messages=messages("user", f"q{n}")) for n in range(1, count // 2)
    ]
    return asked + [chat(n) for n in range(count // 2, count)]


def steps(spans: list[SpanRecord]) -> int:
    """The lines that are run to assemble the spans."""
    taken = 0

    def count(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal taken
        taken += event == "line"
        return count

    sys.settrace(count)
    try:
        trace = assemble(spans)
    finally:
        sys.settrace(None)
    assert len(trace.spans) == len(spans)
    return taken


@pytest.mark.parametrize("shape", [roots, chain, tools_in_tools, names, unanswered])
def test_steps_grow_with_the_spans_and_not_faster(
    shape: Callable[[int], list[SpanRecord]],
) -> None:
    assemble(shape(FEW))
    assert steps(shape(FEW * TIMES)) < MOST_TIMES * steps(shape(FEW))


def test_names_of_any_length_are_read_and_only_their_start_is_remembered() -> None:
    asked: list[str] = []
    remembered = _remembered(8, asked.append)
    for name in ("short", "short", "x" * 10_000, "x" * 10_000):
        remembered(name)
    assert [len(name) for name in asked] == [5, 512]
    assert same_name("look" + "x" * 10_000, "look" + "x" * 10_000)
