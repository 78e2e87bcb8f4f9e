"""The tool calls that models asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejury.assembly.forest import Forest
from tracejury.assembly.messages import parse_messages
from tracejury.assembly.modelcall import Call
from tracejury.assembly.nodes import Node
from tracejury.assembly.spoken import calls_of, last_text
from tracejury.dialects.decode import decode, to_text
from tracejury.trace import Message, Part


class Asked:
    """A call that a model asked for."""

    __slots__ = ("node", "part", "taken")

    def __init__(self, part: Part, node: Node) -> None:
        self.part = part
        self.node = node
        self.taken = False


def asked_calls(forest: Forest, calls: Sequence[Call]) -> list[Asked]:
    """The calls that models asked for, in order, each once.

    Some libraries number the calls of each reply anew: the id of a call that has its result
    already, with other arguments, is another call.
    """
    requests = _asked_of_models(calls)
    if not requests:
        requests = _asked_in_agents(forest, calls)
    seen: dict[str, set[str]] = {}
    found: list[Asked] = []
    for part, node in requests:
        known = seen.setdefault(part.id, set())
        if not part.id or not known or _is_renumbered(part, node, known):
            known.add(to_text(decode(part.arguments)))
            found.append(Asked(part, node))
    return found


def _is_renumbered(part: Part, node: Node, known: set[str]) -> bool:
    """Whether the id stands for another call than before."""
    if to_text(decode(part.arguments)) in known:
        return False
    parts = (p for message in node.input for p in message.parts)
    return any(p.type == "tool_result" and p.id == part.id for p in parts)


def _asked_of_models(calls: Sequence[Call]) -> list[tuple[Part, Node]]:
    """The calls in the models' answers; of an answer left out, as the next prompt repeats it."""
    requests: list[tuple[Part, Node]] = []
    asked: dict[str, int] = {}
    for call, later in zip(calls, _next_with_prompt(calls), strict=True):
        question = last_text(call.input, "user")
        parts = calls_of(call.output)
        if later is not None and not parts and question and not _says_something(call.output):
            parts = _repeated(later, question)[asked.get(question, 0) :]
        asked[question] = asked.get(question, 0) + len(parts)
        requests += [(part, call.main) for part in parts]
    return requests


def _next_with_prompt(calls: Sequence[Call]) -> list[Call | None]:
    """For each call the first one after it whose prompt was recorded."""
    found: list[Call | None] = []
    following: Call | None = None
    for call in reversed(calls):
        found.append(following)
        following = call if call.input else following
    return found[::-1]


def _says_something(messages: Sequence[Message]) -> bool:
    return any(part.type != "text" or part.text.strip() for m in messages for part in m.parts)


def _repeated(later: Call, question: str) -> list[Part]:
    """The calls since the question in the next prompt, if that works on the same question."""
    if last_text(later.input, "user") != question:
        return []
    prompts = (calls_of(_since_question(prompt)) for prompt in _prompts(later))
    return next((parts for parts in prompts if parts), [])


def _prompts(call: Call) -> Iterator[Sequence[Message]]:
    """The prompt in all ways in which it was recorded: some leave out the calls in it."""
    yield call.input
    for node in call.nodes:
        for value in node.reading.all("input"):
            yield parse_messages(value)


def _asked_in_agents(forest: Forest, calls: Sequence[Call]) -> list[tuple[Part, Node]]:
    """Where no model call recorded its answer: the calls in the agents' own messages."""
    if any(message.parts for call in calls for message in call.output):
        return []
    for node in forest.nodes:
        if node.kind in ("agent", "workflow", "unknown", "step"):
            found = calls_of(_since_question(node.output)) or calls_of(_since_question(node.input))
            if found:
                return _spread(forest, node, found)
    return []


def _spread(forest: Forest, node: Node, found: list[Part]) -> list[tuple[Part, Node]]:
    """The calls of this node and of the nodes beside it that hold messages as well."""
    requests = [(part, node) for part in found]
    for other in forest.nodes[node.order + 1 :]:
        if other.kind == node.kind and other.parent is node.parent:
            requests += [(part, other) for part in calls_of(_since_question(other.output))]
    return requests


def _since_question(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages from the last one of the user on."""
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "user":
            return messages[position:]
    return messages
