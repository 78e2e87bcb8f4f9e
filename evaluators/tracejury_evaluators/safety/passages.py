"""The texts of a run by where they stand, and what of them could not be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tracejury.result import Skip
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.facts import (
    altered_output,
    call_spans,
    missing_output,
    output_spans,
    unseen_tool_calls,
)

Place = Literal["output", "input", "tool_arguments", "tool_outputs", "documents"]

WHERE = (
    "where to look: output (the answer of every turn), input, tool_arguments, tool_outputs, "
    "documents"
)
MAX_CHARS = 8_000_000
MAX_VALUES = 100_000
NAMES: Mapping[Place, str] = {
    "output": "the output",
    "input": "the input",
    "tool_arguments": "a tool's arguments",
    "tool_outputs": "a tool's output",
    "documents": "a document",
}
NOTHING: Mapping[Place, str] = {
    "output": "output",
    "input": "input",
    "tool_arguments": "tool arguments",
    "tool_outputs": "tool output",
    "documents": "document",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text of a run; `place` says where it stands, `name` what that is called."""

    place: Place
    text: str
    span_id: str = ""

    @property
    def name(self) -> str:
        return NAMES[self.place]


@dataclass(slots=True, kw_only=True)
class Sight:
    """What can be looked at, and why the rest cannot: "" where all of it can."""

    passages: list[Passage] = field(default_factory=list)
    unseen: str = ""

    def lacks(self, reason: str) -> None:
        """Note why something cannot be seen; the first reason is kept."""
        self.unseen = self.unseen or reason


def look(trace: Trace, places: Sequence[Place]) -> Sight | Skip:
    """What of a trace can be looked at in these places, or why there is nothing."""
    sight = Sight()
    for place in dict.fromkeys(places):
        LOOKS[place](trace, sight)
    if not sight.passages:
        nothing = " and no ".join(NOTHING[place] for place in dict.fromkeys(places))
        return Skip(sight.unseen or f"the trace has no {nothing} to look at")
    if altered := altered_output(trace):
        sight.lacks(f"the recorded content was {altered}")
    _bound(sight)
    return sight


def _bound(sight: Sight) -> None:
    """Cut what is past the most characters that are looked at."""
    left = MAX_CHARS
    for position, passage in enumerate(sight.passages):
        if len(passage.text) > left:
            cut = Passage(place=passage.place, text=passage.text[:left], span_id=passage.span_id)
            sight.passages[position:] = [cut]
            sight.lacks(f"only the first {MAX_CHARS} characters were looked at")
            return
        left -= len(passage.text)


def _look_at_output(trace: Trace, sight: Sight) -> None:
    skip = missing_output(trace)
    if skip is not None:
        sight.lacks(skip.reason)
        return
    span_id = next(iter(output_spans(trace)), "")
    said = {turn.output: turn.span_id for turn in trace.turns} | {trace.output_text: span_id}
    for text, span in said.items():
        sight.passages.append(Passage(place="output", text=text, span_id=span))


def _look_at_input(trace: Trace, sight: Sight) -> None:
    asked = {turn.input: turn.span_id for turn in trace.turns} | {trace.input_text: ""}
    if trace.flags.not_captured and not any(asked):
        sight.lacks("the input was not captured")
        return
    for text, span in asked.items():
        sight.passages.append(Passage(place="input", text=text, span_id=span))


def _look_at_arguments(trace: Trace, sight: Sight) -> None:
    for call in _calls(trace, sight):
        if call.arguments is None and trace.flags.not_captured:
            sight.lacks("a tool's arguments were not captured")
        elif call.arguments is not None:
            text = "\n".join(_lines(call.arguments))
            sight.passages.append(Passage(place="tool_arguments", text=text, span_id=_span(call)))


def _look_at_outputs(trace: Trace, sight: Sight) -> None:
    for call in _calls(trace, sight):
        text = "\n".join(_told(call))
        if not text and trace.flags.not_captured:
            sight.lacks("a tool's output was not captured")
        elif text:
            sight.passages.append(Passage(place="tool_outputs", text=text, span_id=_span(call)))


def _look_at_documents(trace: Trace, sight: Sight) -> None:
    for document in trace.documents:
        text = document.content
        if document.metadata:
            text = "\n".join([text, *_lines(document.metadata)])
        sight.passages.append(Passage(place="documents", text=text, span_id=document.span_id))
    retrieved = any(span.kind in ("retriever", "reranker") for span in trace.spans)
    if retrieved and not trace.documents and trace.flags.not_captured:
        sight.lacks("the retrieved documents were not captured")


LOOKS = {
    "output": _look_at_output,
    "input": _look_at_input,
    "tool_arguments": _look_at_arguments,
    "tool_outputs": _look_at_outputs,
    "documents": _look_at_documents,
}


def _calls(trace: Trace, sight: Sight) -> Sequence[ToolCall]:
    skip = unseen_tool_calls(trace)
    if skip is not None:
        sight.lacks(skip.reason)
    return trace.tool_calls


def _span(call: ToolCall) -> str:
    return next(iter(call_spans([call])), "")


def _told(call: ToolCall) -> Iterator[str]:
    """What a tool gave back: its output, read as data where it is data, and its error."""
    if isinstance(call.output, Mapping | list | tuple):
        yield from _lines(call.output)
    else:
        yield call.output_text
    if call.error is not None:
        yield call.error.message


def _lines(value: Any) -> Iterator[str]:
    """The values inside data, one a line; `key: value` for those of an object."""
    waiting: list[tuple[str, Any]] = [("", value)]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        name, item = waiting.pop()
        if isinstance(item, Mapping):
            waiting += reversed([(str(key), child) for key, child in item.items()])
        elif isinstance(item, list | tuple):
            waiting += reversed([(name, child) for child in item])
        elif item is not None:
            yield f"{name}: {item}" if name else str(item)
