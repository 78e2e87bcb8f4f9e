"""Tool calls: what ran joined with what models asked for, each call once."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tracejury.assembly.asked import Asked, asked_calls
from tracejury.assembly.cut import whole
from tracejury.assembly.forest import Forest
from tracejury.assembly.modelcall import Call
from tracejury.assembly.toolspans import Names, Ran, function_runs, tool_runs
from tracejury.assembly.unwrap import PAYLOADS, output_text
from tracejury.dialects.active import active
from tracejury.dialects.decode import decode, to_text
from tracejury.trace import Message, Part, SpanError, ToolCall

_HANDOFF = re.compile(r"(?:transfer|handoff|hand_off)_to_.+|transfer_to_agent")


def tool_calls(forest: Forest, calls: Sequence[Call]) -> tuple[ToolCall, ...]:
    """The trace's tool calls in order of execution."""
    answers = _answer_tools(node.fields.dialect for node in forest.nodes)
    handoffs = any(node.kind == "handoff" for node in forest.nodes)
    runs = [ran for ran in tool_runs(forest) if not answers(ran.name)]
    asked = [
        a
        for a in asked_calls(forest, calls)
        if not answers(a.part.name) and not (handoffs and _HANDOFF.fullmatch(a.part.name))
    ]
    results = _results(forest, calls)
    pairs = _join(runs, asked)
    handed = _unclaimed(calls) if not runs else set()
    functions = function_runs(forest, [a.part.name for a in asked if not a.taken], handed)
    joined = _join(functions, asked)
    runs += [ran for ran in functions if id(ran) in joined or ran.output_text in handed]
    pairs |= joined
    spare = _unasked(results, asked)
    placed: list[tuple[tuple[int, int, int], ToolCall]] = []
    for ran in runs:
        call = _from_span(ran, pairs.get(id(ran)), results)
        placed.append(((ran.node.record.start_ns, 0, ran.node.order), call))
    for position, request in enumerate(asked):
        if not request.taken and request.node.fields.dialect not in active().index.runs_apart:
            end = request.node.record.end_ns or request.node.record.start_ns
            result = _answer_to(request.part, results, spare)
            placed.append(((end, 1, position), _from_message(request, result)))
    placed.sort(key=lambda item: item[0])
    return tuple(_numbered(call for _, call in placed))


def _numbered(calls: Iterable[ToolCall]) -> Iterable[ToolCall]:
    """The calls, those that ran again under the same id with the number of their attempt."""
    seen: dict[str, int] = {}
    for call in calls:
        attempt = seen[call.id] = seen.get(call.id, 0) + 1
        yield replace(call, attempt=attempt) if call.id and attempt > 1 else call


def _answer_tools(dialects: Iterable[str]) -> Any:
    """A test for names of tools by which an agent of these dialects gives its answer."""
    patterns = active().answer_tools(dialects)
    return lambda name: any(pattern.fullmatch(name) for pattern in patterns)


def _results(forest: Forest, calls: Sequence[Call]) -> dict[str, Part]:
    """The tool results in messages, by call id; the first recorded stays."""
    found: dict[str, Part] = {}
    for call in calls:
        _take_results(call.input, found)
        _take_results(call.output, found)
    for node in forest.nodes:
        if node.kind in ("agent", "workflow"):
            _take_results(node.output, found)
            _take_results(node.input, found)
    for node in forest.nodes:
        if node.kind == "step":
            _take_results(node.output, found)
    return found


def _unasked(results: dict[str, Part], asked: list[Asked]) -> dict[str, deque[Part]]:
    """The results by tool whose ids no request has: some libraries leave the ids out there."""
    ids = {request.part.id for request in asked}
    found: dict[str, deque[Part]] = defaultdict(deque)
    for part in results.values():
        if part.name and part.id not in ids:
            found[part.name].append(part)
    return found


def _answer_to(part: Part, results: dict[str, Part], spare: dict[str, deque[Part]]) -> Part | None:
    """The result of a call that was asked for: by id, without one the next of its tool."""
    if part.id:
        return results.get(part.id)
    waiting = spare.get(part.name)
    return waiting.popleft() if waiting else None


def _unclaimed(calls: Sequence[Call]) -> set[str]:
    """The texts of tool results in prompts that do not say which call they answer."""
    return {
        text
        for call in calls
        for message in call.input
        for part in message.parts
        if part.type == "tool_result" and not part.id
        if (text := output_text(part.output).strip())
    }


def _take_results(messages: Sequence[Message], found: dict[str, Part]) -> None:
    for message in messages:
        for part in message.parts:
            if part.id and part.type == "tool_result":
                found.setdefault(part.id, part)


def _join(runs: list[Ran], asked: list[Asked]) -> dict[int, Asked]:
    """For each run its request: by id, else by name and arguments, else by name and order."""
    pairs: dict[int, Asked] = {}
    by_id = {a.part.id: a for a in asked if a.part.id and not a.taken}
    for ran in runs:
        request = by_id.get(ran.id) if ran.id else None
        if request is not None:
            request.taken = True
            pairs[id(ran)] = request
    _join_by(runs, asked, pairs, equal_arguments=True)
    _join_by(runs, asked, pairs, equal_arguments=False)
    return pairs


def _join_by(
    runs: list[Ran], asked: list[Asked], pairs: dict[int, Asked], *, equal_arguments: bool
) -> None:
    """Join what is left, by name and (if asked for) arguments, in order."""
    open_: dict[str, deque[Asked]] = defaultdict(deque)
    for request in asked:
        if not request.taken:
            open_[_key(request.part.name, request.part.arguments, equal_arguments)].append(request)
    if not open_:
        return
    names = Names(request.part.name for request in asked if not request.taken)
    for ran in runs:
        if id(ran) in pairs:
            continue
        direct = names.same_as(ran.name)
        handed_on = [ran.dispatched] if ran.dispatched in names else []
        for name in dict.fromkeys((*direct, *handed_on)):
            data = ran.arguments if name in direct else _payload(ran.arguments)
            waiting = open_.get(_key(name, data, equal_arguments))
            if waiting:
                request = waiting.popleft()
                request.taken = True
                pairs[id(ran)] = request
                break


def _payload(arguments: Any) -> Any:
    """What a dispatcher's arguments hand to the tool that they name."""
    if not isinstance(arguments, dict):
        return arguments
    return next((v for k, v in arguments.items() if k in PAYLOADS), arguments)


def _key(name: str, arguments: Any, with_arguments: bool) -> str:
    if not with_arguments:
        return name
    data = decode(arguments)
    if isinstance(data, dict):
        data = dict(sorted(data.items()))
    return f"{name}\n{to_text(data)}"


def _from_span(ran: Ran, request: Asked | None, results: dict[str, Part]) -> ToolCall:
    node, name, call_id = ran.node, ran.name, ran.id
    arguments, output, error = ran.arguments, ran.output, ran.error
    if request is not None:
        name, call_id = request.part.name or name, call_id or request.part.id
        if ran.dispatched == name:
            arguments = _payload(arguments)
        if _is_unnamed(arguments, request.part.arguments):
            arguments = request.part.arguments
    result = _result_of(call_id, request, results)
    if result is not None:
        output = result.output if output is None else whole(output, [result.output])
        if error is None and result.is_error:
            error = SpanError(message=output_text(result.output))
    return ToolCall(
        name=active().own_tool_name(node.fields.dialect, name),
        arguments=arguments,
        output=output,
        output_text=output_text(output),
        error=error,
        id=call_id,
        start_ns=node.record.start_ns,
        latency_ms=node.latency_ms,
        span_id=node.span_id,
        requested_by_span_id=request.node.span_id if request is not None else "",
        source="both" if request is not None else "span",
    )


def _result_of(call_id: str, request: Asked | None, results: dict[str, Part]) -> Part | None:
    """The result that the messages hold: by the span's id, else by the id in the request."""
    found = results.get(call_id) if call_id else None
    if found is None and request is not None and request.part.id:
        found = results.get(request.part.id)
    return found


def _is_unnamed(arguments: Any, asked: Any) -> bool:
    """Whether the request names what is no object here, values in order or a sole one."""
    if not isinstance(arguments, dict):
        return asked is not None
    if not isinstance(asked, dict):
        return False
    values = list(asked.values())
    return arguments == {"args": values} or [arguments] == [decode(value) for value in values]


def _from_message(request: Asked, result: Part | None) -> ToolCall:
    part = request.part
    output = result.output if result is not None else part.output
    failed = result is not None and result.is_error
    return ToolCall(
        name=active().own_tool_name(request.node.fields.dialect, part.name),
        arguments=part.arguments,
        output=output,
        output_text=output_text(output),
        error=SpanError(message=output_text(output)) if failed else None,
        id=part.id or (result.id if result is not None else ""),
        start_ns=request.node.record.end_ns or request.node.record.start_ns,
        requested_by_span_id=request.node.span_id,
        source="message",
    )
