"""Turns: one user input and the answer to it."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.assembly.messages import last_text
from tracejury.assembly.nodes import Forest, Node
from tracejury.assembly.usage import Call
from tracejury.dialects.decode import to_content
from tracejury.trace import Message, Turn

_RUNS = frozenset({"agent", "workflow"})
_IDLE = frozenset({"mcp", "embedding", "reranker", "retriever", "evaluator", "memory", "event"})


def find_turns(forest: Forest, calls: Sequence[Call]) -> tuple[Turn, ...]:
    """The trace's turns in order: per outermost agent, else workflow, else root."""
    agents = _outermost(forest, lambda n: n.kind == "agent" and not n.is_setup)
    if agents:
        return _merged([_turn([node], forest, calls, len(agents) == 1) for node in agents])
    workflows = _outermost(forest, lambda n: n.kind == "workflow" and _speaks(n))
    if workflows:
        return _merged([_turn([node], forest, calls, len(workflows) == 1) for node in workflows])
    groups = [g for g in _root_groups(forest) if any(_is_run(node) for node in _below(g))]
    return _merged([_turn(group, forest, calls, False) for group in groups])


def _outermost(forest: Forest, wanted: object) -> list[Node]:
    found: list[Node] = []
    inside: set[int] = set()
    for node in sorted(forest.nodes, key=lambda n: n.depth):
        if node.parent is not None and id(node.parent) in inside:
            inside.add(id(node))
        elif wanted(node):  # type: ignore[operator]
            inside.add(id(node))
            found.append(node)
    return sorted(found, key=lambda n: n.order)


def _speaks(node: Node) -> bool:
    return bool(node.input or node.output or any(_is_run(below) for below in _below([node])))


def _is_run(node: Node) -> bool:
    return node.kind not in _IDLE and not node.is_setup and node.kind != "unknown"


def _below(roots: Sequence[Node]) -> list[Node]:
    """The nodes and all below them."""
    found: list[Node] = []
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.children)
    return found


def _root_groups(forest: Forest) -> list[list[Node]]:
    """The roots, those that wait for the same missing parent together."""
    groups: dict[str, list[Node]] = {}
    for root in forest.roots:
        missing = root.record.parent_span_id
        groups.setdefault(missing or f"root:{root.span_id}", []).append(root)
    return list(groups.values())


def _turn(group: list[Node], forest: Forest, calls: Sequence[Call], sole: bool) -> Turn:
    main = group[0]
    inside = {id(node) for node in _below(group)}
    own = [call for call in calls if id(call.main) in inside]
    above = _above(main) if sole else []
    last = max(group, key=lambda node: (node.record.end_ns, node.order))
    return Turn(
        input=_input(group, above, own),
        output=_output(group, above, own),
        span_id=main.span_id,
        start_ns=main.record.start_ns,
        end_ns=last.record.end_ns,
        error=last.error,
    )


def _above(node: Node) -> list[Node]:
    found: list[Node] = []
    current = node.parent
    while current is not None:
        found.append(current)
        current = current.parent
    return found


def _input(group: list[Node], above: list[Node], own: Sequence[Call]) -> str:
    for node in (*group, *above):
        if node.kind != "tool" and (text := node.question):
            return text
    for call in own:
        if text := last_text(call.input, "user"):
            return text
    return ""


def _output(group: list[Node], above: list[Node], own: Sequence[Call]) -> str:
    for node in (*reversed(group), *above):
        text = _answer_of(node)
        if text:
            return text
    top = {id(node) for node in group}
    for call in reversed(own):
        text = _final_text(call.output)
        if text and not _is_in_tool(call.main, top):
            return text
    return ""


def _answer_of(node: Node) -> str:
    if node.kind == "tool":
        return ""
    final = to_content(node.reading.first("final_output"))
    return final or _final_text(node.output)


def _final_text(messages: Sequence[Message]) -> str:
    """The assistant's text at the end; "" while the last message asks for tools."""
    for message in reversed(messages):
        if message.role == "assistant":
            asks = any(part.type == "tool_call" for part in message.parts)
            text = message.text.strip()
            if text and not asks:
                return text
            if asks:
                return ""
    return ""


def _is_in_tool(node: Node, top: set[int]) -> bool:
    current: Node | None = node
    while current is not None and id(current) not in top:
        if current.kind == "tool":
            return True
        current = current.parent
    return False


def _merged(turns: list[Turn]) -> tuple[Turn, ...]:
    """Turns that follow each other on the same question (or none) are one."""
    merged: list[Turn] = []
    for turn in turns:
        last = merged[-1] if merged else None
        if last is not None and (not turn.input or turn.input == last.input):
            merged[-1] = Turn(
                input=last.input,
                output=turn.output or last.output,
                span_id=last.span_id,
                start_ns=last.start_ns,
                end_ns=max(last.end_ns, turn.end_ns),
                error=turn.error,
            )
        else:
            merged.append(turn)
    return tuple(turn for turn in merged if turn.input or turn.output or len(merged) == 1)
