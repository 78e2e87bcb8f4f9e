"""Turns: one user input and the answer to it."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.assembly.cut import whole
from tracejury.assembly.forest import Forest
from tracejury.assembly.modelcall import Call
from tracejury.assembly.nodes import Node
from tracejury.assembly.spoken import is_conversation, last_text
from tracejury.dialects.decode import decode, to_content
from tracejury.trace import Message, Turn

_RUNS = frozenset({"agent", "workflow"})
# Parts of a run: what goes into them is no question of the user.
_WORKS = frozenset({"tool", "step"})
_IDLE = frozenset({"mcp", "embedding", "reranker", "retriever", "evaluator", "memory", "event"})


def find_turns(forest: Forest, calls: Sequence[Call]) -> tuple[Turn, ...]:
    """The trace's turns in order: per outermost agent, else workflow, else root."""
    agents = _outermost(forest, lambda n: n.kind == "agent" and not n.is_setup)
    if agents:
        groups = _by_question(_with_content(agents))
        return _merged(_all_turns(groups, calls))
    workflows = _outermost(forest, lambda n: n.kind == "workflow" and _speaks(n))
    if workflows:
        return _merged(_all_turns(_with_orphans(forest, workflows), calls))
    roots = [g for g in _root_groups(forest) if any(_is_run(node) for node in _below(g))]
    return _merged(_all_turns(roots, calls))


def _with_orphans(forest: Forest, workflows: list[Node]) -> list[list[Node]]:
    """The workflows one by one; where no root arrived, all that is left of the run together."""
    if len(forest.roots) > 1 and all(map(_is_orphan, forest.roots)):
        return [forest.roots]
    return [[node] for node in workflows]


def _is_orphan(node: Node) -> bool:
    return node.parent is None and bool(node.record.parent_span_id)


def _all_turns(groups: list[list[Node]], calls: Sequence[Call]) -> list[Turn]:
    sole = len(groups) == 1
    by_node = {id(call.main): call for call in calls}
    return [turn for group in groups for turn in _turns_of(group, by_node, sole)]


def _turns_of(group: list[Node], by_node: dict[int, Call], sole: bool) -> list[Turn]:
    """The turn of a run; several where it records none itself and its prompts show them.

    Of a run whose own span is missing only the prompts tell what was asked.
    """
    own = [by_node[id(node)] for node in _below(group) if id(node) in by_node]
    own.sort(key=lambda call: call.main.order)
    lost = len(group) > 1 and _is_orphan(group[0])
    if lost or not any(node.question for node in group):
        spoken = _conversation(group, own)
        if len(spoken) > 1 or (lost and spoken):
            return [_turn_of_calls(part) for part in spoken]
    return [_turn(group, own, _above(group[0]) if sole else [])]


def _conversation(group: list[Node], own: Sequence[Call]) -> list[list[Call]]:
    """The calls by the question they answer, if each later question follows the earlier ones."""
    in_tools = _in_tools(group)
    parts: list[list[Call]] = []
    asked: list[str] = []
    for call in own:
        question = last_text(call.input, "user")
        if id(call.main) in in_tools or not (question or call.output):
            continue
        if asked and (not question or question == asked[-1]):
            parts[-1].append(call)
            continue
        if not question:
            continue
        said = {message.text.strip() for message in call.input if message.role == "user"}
        if not said.issuperset(asked):
            return []
        asked.append(question)
        parts.append([call])
    return parts


def _turn_of_calls(calls: Sequence[Call]) -> Turn:
    first, last = calls[0].main.record, calls[-1].main
    return Turn(
        input=last_text(calls[0].input, "user"),
        output=_final_text(calls[-1].output),
        span_id=first.span_id,
        start_ns=first.start_ns,
        end_ns=last.record.end_ns,
        error=last.error,
    )


def _with_content(agents: list[Node]) -> list[Node]:
    """The agents, those that record nothing themselves replaced by the agents inside them."""
    found: list[Node] = []
    waiting = list(reversed(agents))
    while waiting:
        node = waiting.pop()
        inner = [] if node.input or node.output else _agents_inside(node)
        if inner:
            waiting.extend(reversed(inner))
        else:
            found.append(node)
    return sorted(found, key=lambda n: n.order)


def _agents_inside(node: Node) -> list[Node]:
    """The agents nearest below, not those that work for a tool."""
    found: list[Node] = []
    waiting = list(reversed(node.children))
    while waiting:
        child = waiting.pop()
        if child.kind == "agent" and not child.is_setup:
            found.append(child)
        elif child.kind != "tool":
            waiting.extend(reversed(child.children))
    return found


def _by_question(agents: list[Node]) -> list[list[Node]]:
    """The agents, several that work on the question of one workflow around them together."""
    groups: dict[int, list[Node]] = {}
    for node in agents:
        around = next((n for n in _above(node) if n.kind == "workflow" and n.question), node)
        groups.setdefault(id(around), [around] if around is not node else []).append(node)
    return [_without_frame(group) for group in groups.values()]


def _without_frame(group: list[Node]) -> list[Node]:
    """Without the workflow around a sole agent, unless it wrote the agent's prompt anew."""
    if len(group) != 2:
        return group
    around, agent = group
    rewritten = around.question != agent.question and around.question in agent.question
    return group if rewritten else [agent]


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


def _turn(group: list[Node], own: Sequence[Call], above: list[Node]) -> Turn:
    last = max(group, key=lambda node: (node.record.end_ns, node.order))
    return Turn(
        input=_input(group, above, own),
        output=_output(group, above, own),
        span_id=group[0].span_id,
        start_ns=group[0].record.start_ns,
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
    return _task_in(_asked(group, above, own), _above(group[0]))


def _task_in(text: str, above: list[Node]) -> str:
    """The task that a span around the agent records, if the agent was given it with more around."""
    for node in above:
        if node.kind in ("step", "workflow") and node.question and node.question in text:
            return node.question
    return text


def _asked(group: list[Node], above: list[Node], own: Sequence[Call]) -> str:
    around = [node for node in (*group, *above) if node.kind not in _WORKS]
    for node in around:
        if (text := node.question) and not node.is_cut("input"):
            return text
    for call in sorted(own, key=lambda call: call.main.is_cut("input")):
        if text := last_text(call.input, "user"):
            return text
    text = next((text for n in around if (text := n.question or _raw(n))), "")
    return text or _handed_on(group)


def _raw(node: Node) -> str:
    """The input as recorded where it is no conversation: messages without text ask nothing."""
    text = node.fields.input or ""
    return "" if node.input or is_conversation(text) else text


def _handed_on(group: list[Node]) -> str:
    """What the first step that holds a conversation was given by a run that records none."""
    runs = [node for node in group if node.kind in _RUNS]
    steps = [n for n in _below(runs) if n.kind == "step" and _holds_list(n.fields.input)]
    return next((n.question for n in sorted(steps, key=lambda n: n.order) if n.question), "")


def _holds_list(text: str | None) -> bool:
    return bool(text) and isinstance(decode(text), list)


def _output(group: list[Node], above: list[Node], own: Sequence[Call]) -> str:
    around = [*reversed(group), *above]
    for node in around:
        if not node.is_cut("output") and (text := _answer_of(node)):
            return text
    in_tools = _in_tools(group)
    for call in reversed(own):
        text = _final_text(call.output)
        if text and id(call.main) not in in_tools:
            return text
    start = next((text for node in around if (text := _answer_of(node))), "")
    return str(whole(start, map(_answer_of, _below(group))))


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


def _in_tools(group: list[Node]) -> set[int]:
    """The nodes of the group that work for a tool, but for those that lead the group."""
    top = {id(node) for node in group}
    found: set[int] = set()
    waiting = [(node, False) for node in group]
    while waiting:
        node, inside = waiting.pop()
        for child in node.children:
            if id(child) not in top:
                works = inside or child.kind == "tool"
                if works:
                    found.add(id(child))
                waiting.append((child, works))
    return found


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
