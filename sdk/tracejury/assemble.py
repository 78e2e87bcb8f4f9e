"""From spans and logs to the trace they tell of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from tracejury.assembly.calls import tool_calls
from tracejury.assembly.documents import find_documents
from tracejury.assembly.forest import Forest, build_forest
from tracejury.assembly.message import finish_reason
from tracejury.assembly.modelcall import Call
from tracejury.assembly.modelcalls import model_calls
from tracejury.assembly.nodes import NO_COST, Node
from tracejury.assembly.spoken import is_conversation, last_text
from tracejury.assembly.totals import Totals
from tracejury.assembly.turns import find_turns
from tracejury.dialects.decode import decode, to_float, to_name
from tracejury.trace import (
    Cost,
    Flags,
    LLMCall,
    LogRecord,
    Message,
    Part,
    Span,
    SpanRecord,
    ToolDefinition,
    Trace,
    TraceKind,
    Turn,
)

_FLAGS: Final = {
    (redacted, truncated, hidden): Flags(
        redacted=redacted, truncated=truncated, not_captured=hidden
    )
    for redacted in (False, True)
    for truncated in (False, True)
    for hidden in (False, True)
}
_CONTENT_KINDS = frozenset({"llm", "agent", "tool"})


def assemble(
    spans: Sequence[SpanRecord], logs: Sequence[LogRecord] = (), *, revision: int = 1
) -> Trace:
    """The trace that the spans and logs tell of; the same for any order, never raises."""
    forest = build_forest(spans, logs)
    if not forest.nodes:
        trace_id = logs[0].trace_id if logs else ""
        return Trace(trace_id=trace_id, revision=revision, diagnostics=("no_spans",))
    calls = model_calls(forest)
    totals = Totals(forest, calls)
    turns = find_turns(forest, calls)
    main = _main(forest)
    nodes = forest.nodes
    errors = _final_errors(forest)
    roots_first = sorted(nodes, key=lambda node: (node.depth > 0, node.order))
    return Trace(
        trace_id=main.record.trace_id,
        revision=revision,
        name=main.record.name,
        kind=_kind(forest, calls),
        flags=_flags(forest),
        input_text=next((turn.input for turn in turns if turn.input), ""),
        output_text=next((turn.output for turn in reversed(turns) if turn.output), ""),
        agent_name=_agent_name(forest),
        service_name=to_name(main.record.resource.get("service.name")),
        session_id=_first(node.fields.session_id for node in roots_first),
        user_id=_first(node.fields.user_id for node in roots_first),
        start_ns=min((n.record.start_ns for n in nodes if n.record.start_ns), default=0),
        end_ns=max(max(n.record.end_ns, n.record.start_ns) for n in nodes),
        has_error=errors,
        error_count=sum(node.error is not None for node in nodes),
        usage=totals.usage,
        cost=totals.cost,
        models=tuple(
            dict.fromkeys(c.requested_model for c in calls if c.requested_model)
            or dict.fromkeys(totals.models)
        ),
        turns=turns,
        tool_calls=tool_calls(forest, calls),
        llm_calls=tuple(_llm_call(call) for call in calls if call.main.kind == "llm"),
        messages=_conversation(calls, turns),
        documents=find_documents(forest),
        spans=tuple(_span(node) for node in nodes),
        dialects=tuple(dict.fromkeys(n.fields.dialect for n in nodes if n.fields.dialect)),
        diagnostics=tuple(dict.fromkeys((*_diagnostics(forest), *totals.diagnostics))),
    )


def _main(forest: Forest) -> Node:
    """The root that stands for the trace: a true root before an orphan, the earliest first."""
    return min(forest.roots, key=lambda node: (bool(node.record.parent_span_id), node.order))


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")


def _final_errors(forest: Forest) -> bool:
    """Whether the run failed: a root ended in error; without a root, the last span did."""
    roots = [node for node in forest.roots if not node.record.parent_span_id]
    if roots:
        return any(node.error is not None for node in roots)
    return max(forest.nodes, key=lambda n: (n.record.end_ns, -n.depth, n.order)).error is not None


def _agent_name(forest: Forest) -> str:
    agents = sorted(
        (n for n in forest.nodes if n.kind == "agent"), key=lambda n: (n.is_setup, n.depth, n.order)
    )
    return _first(n.fields.agent_name for n in agents) or _first(
        n.fields.agent_name for n in forest.nodes
    )


def _kind(forest: Forest, calls: Sequence[Call]) -> TraceKind:
    """What the trace is: a run of an agent, bare model or tool calls, or no run."""
    nodes = forest.nodes
    kinds = {node.kind for node in nodes if not node.is_setup}
    answers = any(call.main.kind == "llm" for call in calls)
    if _is_evaluation(forest):
        return "evaluator"
    if "agent" in kinds or (answers and kinds & {"workflow", "tool", "handoff"}):
        return "agent"
    if answers:
        return "llm"
    if any(n.kind == "workflow" and (n.fields.input or n.fields.output) for n in nodes):
        return "agent" if "tool" in kinds or not kinds & {"embedding", "retriever"} else "other"
    if "tool" in kinds:
        return "tool"
    setup = any(node.is_setup for node in nodes)
    return (
        "setup"
        if setup or (kinds <= {"mcp", "embedding", "unknown"} and kinds != {"unknown"})
        else "other"
    )


def _is_evaluation(forest: Forest) -> bool:
    return all(node.kind == "evaluator" for node in forest.roots)


def _flags(forest: Forest) -> Flags:
    fields = [node.fields for node in forest.nodes]
    return Flags(
        redacted=any(f.redacted for f in fields) or any(map(_is_redacted_beside, forest.nodes)),
        truncated=any(f.truncated for f in fields),
        not_captured=any(node.kind in _CONTENT_KINDS for node in forest.nodes)
        and not any(map(_has_content, forest.nodes)),
    )


def _is_redacted_beside(node: Node) -> bool:
    """Whether something was taken out of a log record of the span."""
    return any("tracejury.redacted" in event.attributes for event in node.events)


def _has_content(node: Node) -> bool:
    """Whether a span holds what went in or out; messages may be there with nothing in them."""
    fields = node.fields
    if fields.tool_arguments or fields.tool_result:
        return True
    return _holds(fields.input, node.input) or _holds(fields.output, node.output)


def _holds(recorded: str | None, messages: Sequence[Message]) -> bool:
    if not recorded:
        return False
    return any(map(_says, messages)) if messages else not is_conversation(recorded)


def _says(message: Message) -> bool:
    return any(
        part.text or part.arguments is not None or part.output is not None or part.raw is not None
        for part in message.parts
    )


def _is_hidden(node: Node) -> bool:
    """Whether a call of a model or tool was recorded without what was said."""
    return node.kind in ("llm", "tool") and node.error is None and not _has_content(node)


def _diagnostics(forest: Forest) -> list[str]:
    found = []
    if any(node.record.parent_span_id for node in forest.roots):
        found.append("orphans")
    if not any(not node.record.parent_span_id for node in forest.roots):
        found.append("no_root")
    if any(not node.record.end_ns for node in forest.nodes):
        found.append("not_ended")
    return found


def _span(node: Node) -> Span:
    record, fields = node.record, node.fields
    return Span(
        span_id=record.span_id,
        parent_span_id=record.parent_span_id,
        name=record.name,
        kind=node.kind,
        dialect=fields.dialect,
        start_ns=record.start_ns,
        end_ns=record.end_ns,
        latency_ms=node.latency_ms,
        status=record.status,
        error=node.error,
        agent_name=fields.agent_name,
        provider=fields.provider,
        model=fields.model,
        operation=fields.operation,
        input=fields.input,
        output=fields.output,
        tool_name=fields.tool_name,
        tool_call_id=fields.tool_call_id,
        usage=node.usage,
        cost=NO_COST if fields.cost_usd is None else Cost(usd=fields.cost_usd, source="reported"),
        attributes=record.attributes,
        events=node.events,
        scope_name=record.scope_name,
        flags=_FLAGS[fields.redacted, fields.truncated, _is_hidden(node)],
    )


def _llm_call(call: Call) -> LLMCall:
    node = call.main
    return LLMCall(
        span_id=node.span_id,
        name=node.record.name,
        operation=node.fields.operation,
        provider=call.provider,
        model=call.model,
        input=call.input,
        output=call.output,
        tool_definitions=_definitions(call.value("tool_definitions")),
        finish_reasons=_finish_reasons(decode(call.value("finish_reasons")), call.output),
        params=_params(call.value("params")),
        response_id=call.response_id,
        usage=call.usage,
        cost=call.cost,
        start_ns=node.record.start_ns,
        latency_ms=node.latency_ms,
        ttft_ms=_ttft(call),
        error=node.error,
    )


def _finish_reasons(recorded: Any, output: Sequence[Message]) -> tuple[str, ...]:
    if isinstance(recorded, str):
        recorded = recorded.split(",")
    if isinstance(recorded, list):
        found = [finish_reason(item.strip()) for item in recorded if isinstance(item, str)]
    else:
        found = [message.finish_reason for message in output]
    return tuple([reason for reason in found if reason])


def _params(value: Any) -> dict[str, Any]:
    data = decode(value)
    if not isinstance(data, dict):
        return {}
    return {k: v for k, v in data.items() if k not in ("model", "tools", "messages")}


def _ttft(call: Call) -> float | None:
    milliseconds = to_float(call.value("ttft_ms"))
    if milliseconds is not None:
        return milliseconds
    seconds = to_float(call.value("ttft_s"))
    return None if seconds is None else seconds * 1e3


def _definitions(value: Any) -> tuple[ToolDefinition, ...]:
    """The tools offered, in one shape."""
    found = []
    for declared in _declared(decode(value)):
        item = decode(declared.get("tool", declared))
        item = decode(item.get("json_schema", item)) if isinstance(item, dict) else {}
        item = decode(item.get("function", item)) if isinstance(item, dict) else {}
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            found.append(_definition(item))
    return tuple(found)


def _declared(items: Any) -> Iterator[dict[str, Any]]:
    """The objects of the list, those that Gemini groups one by one."""
    for raw in items if isinstance(items, list) else []:
        item = decode(raw)
        if not isinstance(item, dict):
            continue
        group = item.get("function_declarations", item.get("functionDeclarations"))
        if isinstance(group, list):
            yield from (tool for tool in group if isinstance(tool, dict))
        else:
            yield item


def _definition(item: dict[str, Any]) -> ToolDefinition:
    keys = ("parameters", "input_schema", "inputSchema", "parameters_json_schema")
    parameters = next((item[key] for key in keys if item.get(key) is not None), None)
    description = item.get("description")
    return ToolDefinition(
        name=item["name"],
        description=description if isinstance(description, str) else "",
        parameters=decode(parameters),
    )


def _conversation(calls: Sequence[Call], turns: Sequence[Turn]) -> tuple[Message, ...]:
    """The conversation as the model saw it at last, earlier turns that it lacks before it."""
    found: list[Message] = []
    for call in calls:
        if call.main.kind != "llm" or not (call.input or call.output):
            continue
        spoken = [*call.input, *call.output]
        if found and _continues(found, call.input):
            found = spoken
        elif not found or last_text(spoken, "user") != last_text(found, "user"):
            found += spoken
    return tuple(found) or _plain_conversation(turns)


def _continues(known: Sequence[Message], spoken: Sequence[Message]) -> bool:
    """Whether a later prompt repeats what was said before."""
    texts = {message.text for message in spoken}
    return all(message.text in texts for message in known if message.role == "user")


def _plain_conversation(turns: Sequence[Turn]) -> tuple[Message, ...]:
    found: list[Message] = []
    for turn in turns:
        if turn.input:
            found.append(Message(role="user", parts=(Part(type="text", text=turn.input),)))
        if turn.output:
            found.append(Message(role="assistant", parts=(Part(type="text", text=turn.output),)))
    return tuple(found)
