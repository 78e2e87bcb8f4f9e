"""Evaluator cases as data: `tests/cases/TYPE.json`, one array of cases per evaluator type.

A case names what it decides and gives a small description of a trace, the config, the criteria
and the expected outcome. In a trace, tools are names or objects of `make_tool_call`'s parameters;
`llm` holds objects of `make_llm_call`'s, where an output message is a text or an object with the
fields of a part; `turns` holds pairs of input and output, or objects of `Turn`'s fields with times
in `start_ms` and `end_ms` after the start of the trace; `documents` holds objects of `Document`'s
fields, given by the span `retriever` unless they name another, and `retrievers` what the spans of
these names recorded as output; everything else goes to `make_trace`.
`expect` holds the fields to compare: a value is compared to 1e-9, `reason_has` is a part of the
reason or message.

A case of an evaluator that asks a model brings the model's answers as `model`, as
`tests/helpers/judges.py` takes them; `asked` in its `expect` lists parts of what the model is told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracejury.result import Outcome, outcome_to_json
from tracejury.testing import MS, START_NS, make_llm_call, make_tool_call, make_trace
from tracejury.trace import (
    Cost,
    Document,
    Flags,
    LLMCall,
    Message,
    Part,
    Span,
    SpanError,
    ToolCall,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)

CASES = Path(__file__).parent.parent / "cases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case of an evaluator type."""

    type: str
    name: str
    trace: Mapping[str, Any]
    config: Mapping[str, Any]
    criteria: Mapping[str, Any] | None
    expect: Mapping[str, Any]
    model: Sequence[Mapping[str, Any]] = ()


def load_cases(path: Path) -> list[Case]:
    """The cases of one file, whose name is the evaluator type."""
    return [
        Case(
            type=path.stem,
            name=entry["name"],
            trace=entry.get("trace", {}),
            config=entry.get("config", {}),
            criteria=entry.get("criteria"),
            expect=entry["expect"],
            model=entry.get("model", ()),
        )
        for entry in json.loads(path.read_text(encoding="utf-8"))
    ]


def trace_of(description: Mapping[str, Any]) -> Trace:
    """The trace that a case describes."""
    fields = dict(description)
    tools = [_tool(entry) for entry in fields.pop("tools", [])]
    llm = [_llm(entry) for entry in fields.pop("llm", [])]
    if "flags" in fields:
        fields["flags"] = Flags(**dict.fromkeys(fields["flags"], True))
    if "usage" in fields:
        fields["usage"] = Usage(**fields["usage"])
    if "cost" in fields:
        fields["cost"] = Cost(**fields["cost"])
    if "turns" in fields:
        fields["turns"] = tuple(_turn(*entry) for entry in enumerate(fields["turns"], 1))
    if fields.pop("open_span", False):
        fields["spans"] = (Span(span_id="open", start_ns=START_NS),)
    documents = [
        Document(**{"span_id": "retriever"} | entry) for entry in fields.pop("documents", [])
    ]
    recorded = dict.fromkeys(document.span_id for document in documents)
    spans = [_retriever(*entry) for entry in (recorded | fields.pop("retrievers", {})).items()]
    trace = make_trace(tool_calls=tools, llm_calls=llm, **fields)
    return replace(trace, documents=tuple(documents), spans=(*trace.spans, *spans))


def differences(outcome: Outcome, expect: Mapping[str, Any]) -> dict[str, Any]:
    """The expected fields that the outcome does not have, with what it has instead."""
    actual = outcome_to_json(outcome)
    wanted = {name: value for name, value in expect.items() if name != "asked"}
    part = wanted.pop("reason_has", "")
    said = actual.get("reason", actual.get("message", ""))
    wrong = {
        name: actual.get(name) for name in wanted if not _equal(actual.get(name), wanted[name])
    }
    return wrong | ({} if part in said else {"reason": said})


def _equal(actual: Any, wanted: Any) -> bool:
    if isinstance(wanted, float) and isinstance(actual, float):
        return abs(actual - wanted) <= 1e-9
    return bool(actual == wanted)


def _retriever(span_id: str, output: str | None) -> Span:
    return Span(
        span_id=span_id,
        parent_span_id="root",
        kind="reranker" if "rerank" in span_id else "retriever",
        output=output,
        start_ns=START_NS,
        end_ns=START_NS + MS,
    )


def _tool(entry: str | Mapping[str, Any]) -> ToolCall:
    return make_tool_call(entry) if isinstance(entry, str) else make_tool_call(**entry)


def _llm(entry: Mapping[str, Any]) -> LLMCall:
    fields = dict(entry)
    if "output" in fields:
        fields["output"] = tuple(_message(message) for message in fields["output"])
    if "error" in fields:
        fields["error"] = SpanError(**fields["error"])
    if "tools" in fields:
        fields["tools"] = [_definition(tool) for tool in fields["tools"]]
    return make_llm_call(**fields)


def _definition(entry: str | Mapping[str, Any]) -> ToolDefinition:
    return ToolDefinition(name=entry) if isinstance(entry, str) else ToolDefinition(**entry)


def _message(entry: str | Mapping[str, Any]) -> Message:
    part = Part(type="text", text=entry) if isinstance(entry, str) else Part(**entry)
    return Message(role="assistant", parts=(part,))


def _turn(number: int, entry: list[str] | Mapping[str, Any]) -> Turn:
    pair = ("input", "output")
    given = entry if isinstance(entry, Mapping) else dict(zip(pair, entry, strict=True))
    fields: dict[str, Any] = dict(given)
    for name in ("start", "end"):
        if f"{name}_ms" in fields:
            fields[f"{name}_ns"] = START_NS + round(fields.pop(f"{name}_ms") * MS)
    return Turn(**{"span_id": f"turn-{number}", **fields})
