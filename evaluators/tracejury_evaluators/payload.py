"""A trace as scripts and webhooks get it: the JSON that AgentV gives its code judges.

Every field is always there. What production has no source for is "" or []; a number that was not
recorded is null. `tracejury` is ours: which trace it is, what its recording lacks, what was cut.
Source: AgentV, "Custom Evaluators Guide", input format.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from pydantic import Field

from tracejury.bounds import clip
from tracejury.evaluator import Criteria
from tracejury.trace import Message, ToolCall, Trace

MAX_PAYLOAD_BYTES = 4 << 20
MAX_DEPTH = 64
MAX_INTEGER = 1 << 64
MESSAGES = ("input_messages", "output_messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Most characters of a text and most items of a list or object."""

    chars: int = sys.maxsize
    items: int = sys.maxsize


SMALLER = (
    Size(chars=65_536),
    Size(chars=8_192, items=2_000),
    Size(chars=1_024, items=200),
    Size(chars=128, items=50),
    Size(chars=128, items=0),
)
"""Tried in this order until all fits."""

FILES = Field(default=(), description="paths that are handed over as they are; never opened here")


class PayloadCriteria(Criteria):
    """What a case knows beyond the trace; handed to the script under the same names."""

    question: str | None = Field(
        default=None, description="the task; left out, what the trace was asked"
    )
    expected_outcome: str = Field(default="", description="what the answer should achieve")
    reference_answer: str = Field(default="", description="an answer of the best quality")
    guideline_files: tuple[str, ...] = FILES
    input_files: tuple[str, ...] = FILES


def payload_of(trace: Trace, criteria: PayloadCriteria | None = None) -> dict[str, Any]:
    """The input of a script, as JSON data of at most about 4 MiB.

    Where it would be larger, long texts are cut at their end and long lists in their middle;
    `tracejury.cut` names the fields to which that happened.
    """
    return json.loads(payload_bytes(trace, criteria))  # type: ignore[no-any-return]  # an object


def payload_bytes(trace: Trace, criteria: PayloadCriteria | None = None) -> bytes:
    """The input of a script as UTF-8 JSON; see `payload_of`."""
    whole = _fitted(_whole(trace, criteria or PayloadCriteria()), Size())
    data = _json(whole, ())
    for size in SMALLER:
        if len(data) <= MAX_PAYLOAD_BYTES:
            return data
        fitted = _fitted(whole, size)
        data = _json(fitted, [name for name in whole if fitted[name] != whole[name]])
    return data


def _fitted(whole: Mapping[str, Any], size: Size) -> dict[str, Any]:
    """All fields cut to a size; where no message may stay, none does."""
    return {
        name: [] if name in MESSAGES and not size.items else _plain(value, size)
        for name, value in whole.items()
    }


def _json(fields: Mapping[str, Any], cut: Iterable[str]) -> bytes:
    named = dict(fields) | {"tracejury": {**fields["tracejury"], "cut": list(cut)}}
    return json.dumps(named, ensure_ascii=False, allow_nan=False).encode()


def _whole(trace: Trace, criteria: PayloadCriteria) -> dict[str, Any]:
    before, after = _parted(trace)
    return {
        "question": trace.input_text if criteria.question is None else criteria.question,
        "expected_outcome": criteria.expected_outcome,
        "reference_answer": criteria.reference_answer,
        "candidate_answer": trace.output_text,
        "guideline_files": criteria.guideline_files,
        "input_files": criteria.input_files,
        "input_messages": [_message(message) for message in before],
        "output_messages": _output_messages(trace, after),
        "trace_summary": _summary(trace),
        "tracejury": {
            "trace_id": trace.trace_id,
            "revision": trace.revision,
            "flags": asdict(trace.flags),
        },
    }


def _parted(trace: Trace) -> tuple[Sequence[Message], Sequence[Message]]:
    """The messages up to what the trace was first asked, and those after it."""
    asked = trace.turns[0].input if trace.turns else trace.input_text
    for position, message in enumerate(trace.messages):
        if message.role == "user" and message.text == asked:
            return trace.messages[: position + 1], trace.messages[position + 1 :]
    answers = (i for i, message in enumerate(trace.messages) if message.role == "assistant")
    first = next(answers, len(trace.messages))
    return trace.messages[:first], trace.messages[first:]


def _output_messages(trace: Trace, after: Sequence[Message]) -> list[dict[str, Any]]:
    """The run message by message, each tool call once, with its result, where it was asked for."""
    asked = {part.id for message in after for part in message.parts if part.type == "tool_call"}
    waiting: dict[str, list[ToolCall]] = {id_: [] for id_ in asked if id_}
    unasked: list[ToolCall] = []
    for call in trace.tool_calls:
        waiting.get(call.id, unasked).append(call)
    found = []
    for message in after:
        ids = [part.id for part in message.parts if part.type == "tool_call"]
        calls = [_tool_call(call) for id_ in ids for call in waiting.pop(id_, [])]
        if message.role != "tool" and (calls or message.text):
            found.append(_message(message) | {"tool_calls": calls})
    return _completed(found, [_tool_call(call) for call in unasked], trace.output_text)


def _completed(
    messages: list[dict[str, Any]], unasked: list[dict[str, Any]], answer: str
) -> list[dict[str, Any]]:
    """The messages with the calls that none of them asked for, and with the answer at the end."""
    said = bool(messages) and messages[-1]["content"] == answer
    last = [messages[-1]] if said else []
    earlier = messages[:-1] if said else messages
    if unasked:
        earlier = [*earlier, {"role": "assistant", "content": "", "tool_calls": unasked}]
    if answer and not said:
        last = [{"role": "assistant", "content": answer, "tool_calls": []}]
    return [*earlier, *last]


def _message(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": message.text}


def _tool_call(call: ToolCall) -> dict[str, Any]:
    shown = {
        "tool": call.name,
        "input": call.arguments,
        "output": call.output,
        "id": call.id,
        "timestamp": _timestamp(call.start_ns),
    }
    if call.error is not None:
        shown["error"] = call.error.message or call.error.type or "failed"
    return shown


def _summary(trace: Trace) -> dict[str, Any]:
    """Counts; an event is a call of a model or a tool."""
    counts = Counter(call.name for call in trace.tool_calls)
    return {
        "event_count": len(trace.llm_calls) + len(trace.tool_calls),
        "tool_names": sorted(counts),
        "tool_calls_by_name": dict(counts),
        "error_count": trace.error_count,
        "token_usage": {"input": trace.usage.input_tokens, "output": trace.usage.output_tokens},
        "cost_usd": trace.cost.usd,
        "duration_ms": trace.latency_ms if trace.end_ns > 0 else None,
    }


def _timestamp(time_ns: int) -> str:
    """A time as ISO 8601 in UTC, to the millisecond; "" where it was not recorded."""
    if not 0 < time_ns < MAX_INTEGER:
        return ""
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).replace(tzinfo=None)
    return f"{moment.isoformat()}.{time_ns // 1_000_000 % 1000:03d}Z"


def _plain(value: Any, size: Size, depth: int = 0) -> Any:
    """The value as JSON can hold it, cut to a size: no NaN, no half characters, not too deep."""
    if isinstance(value, str):
        return clip(value, size.chars)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -MAX_INTEGER < value < MAX_INTEGER else clip(hex(value), 100)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        kept = islice(value.items(), size.items)
        return {clip(str(name), size.chars): _plain(item, size, depth + 1) for name, item in kept}
    if isinstance(value, Iterable):
        return [_plain(item, size, depth + 1) for item in _ends(list(value), size.items)]
    return clip(str(value), size.chars)


def _ends(items: list[Any], limit: int) -> list[Any]:
    """The first and the last items, `limit` of them at most."""
    if len(items) <= limit:
        return items
    return [*items[: limit // 2], *items[len(items) - (limit - limit // 2) :]]
