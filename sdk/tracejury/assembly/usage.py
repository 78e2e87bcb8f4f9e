"""Which spans are model calls, each counted once, and what they used and cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

from tracejury.assembly.forest import Forest
from tracejury.assembly.messages import has_parts, last_text
from tracejury.assembly.models import split_model
from tracejury.assembly.nodes import NO_COST, NO_USAGE, Node
from tracejury.assembly.prices import estimate_usd
from tracejury.assembly.toolspans import may_be_equal
from tracejury.dialects.active import active
from tracejury.dialects.decode import to_name
from tracejury.dialects.rules import Field
from tracejury.trace import Cost, Message, Usage

COUNTABLE = frozenset({"llm", "embedding", "reranker"})
_BARRIERS = frozenset({"tool", "agent"})
# How far twins overlap: of the longer one, or of the shorter where both report the same tokens.
_OVERLAP = 0.9
_OVERLAP_OF_EQUALS = 0.5
# Twins start at nearly the same time: so many calls before one are looked at.
_RECENT = 32
_MISMATCH = 0.05
T = TypeVar("T")


class Call:
    """One call of a model; several nested spans may have recorded it, the innermost first."""

    def __init__(self, node: Node) -> None:
        self.nodes = [node]

    @property
    def main(self) -> Node:
        """The innermost span: nearest to the model."""
        return self.nodes[0]

    @cached_property
    def usage(self) -> Usage:
        """The tokens used, fields that the innermost span lacks taken from those around it."""
        return merged_usage([node.usage for node in self.nodes])

    @cached_property
    def reported_usd(self) -> float | None:
        """The cost that a span reports, None if none does.

        A library that knows no price reports 0: believed only if the price table knows none either.
        """
        cost = _first([node.fields.cost_usd for node in self.nodes])
        return None if cost == 0 and self.list_price_usd else cost

    @cached_property
    def list_price_usd(self) -> float | None:
        """The cost by list price, None if it is unknown."""
        model = self.model or self.requested_model
        return estimate_usd(self.provider, model, self.usage, self.main.record.start_ns)

    @cached_property
    def cost(self) -> Cost:
        """Reported cost, else the list price, else unknown."""
        if self.reported_usd is not None:
            return Cost(usd=self.reported_usd, source="reported")
        usd = self.list_price_usd
        return NO_COST if usd is None else Cost(usd=usd, source="estimated")

    @cached_property
    def model(self) -> str:
        """The model that answered, else the one that was asked."""
        return split_model(self._text("model"), self._text("provider"))[0]

    @cached_property
    def requested_model(self) -> str:
        """The model that was asked, else the one that answered.

        Some libraries name the provider where they do not know the model; where a call names
        none, the agent that made it may.
        """
        asked = split_model(self._name("request_model"), self._text("provider"))[0]
        if asked and asked.lower() != self.provider:
            return asked
        return self.model or self._agents_model()

    @cached_property
    def provider(self) -> str:
        """Who serves the model."""
        return split_model(self._text("model"), self._text("provider"))[1]

    @cached_property
    def response_id(self) -> str:
        """The provider's id of the response."""
        return self._name("response_id")

    @cached_property
    def input(self) -> tuple[Message, ...]:
        """The messages sent."""
        return _first_content(n.input for n in sorted(self.nodes, key=lambda n: n.is_cut("input")))

    @cached_property
    def output(self) -> tuple[Message, ...]:
        """The messages received."""
        return _first_content(
            n.output for n in sorted(self.nodes, key=lambda n: n.is_cut("output"))
        )

    def _agents_model(self) -> str:
        agents = (n for n in _upward(self.main.parent) if n.kind == "agent" and n.fields.model)
        agent = next(agents, None)
        return split_model(agent.fields.model, agent.fields.provider)[0] if agent else ""

    def value(self, field: Field) -> Any:
        """The most trusted value of a field over the spans of the call."""
        for node in self.nodes:
            if (value := node.reading.first(field)) is not None:
                return value
        return None

    def _name(self, field: Field) -> str:
        for node in self.nodes:
            if name := to_name(node.reading.first(field)):
                return name
        return ""

    def _text(self, field: str) -> str:
        for node in self.nodes:
            if text := getattr(node.fields, field):
                return str(text)
        return ""


def _first_content(sides: Iterable[tuple[Message, ...]]) -> tuple[Message, ...]:
    return next((messages for messages in sides if has_parts(messages)), ())


def has_usage(usage: Usage) -> bool:
    """Whether any token was reported."""
    return usage.total_tokens is not None


def merged_usage(usages: Sequence[Usage]) -> Usage:
    """The first usage that reports tokens, its gaps filled from the others."""
    if len(usages) == 1:
        return usages[0]
    known = sorted(usages, key=lambda usage: not has_usage(usage))
    fields = {name: _first([getattr(u, name) for u in known]) for name in Usage.__slots__}
    fields["output_tokens"] = _with_reasoning(known)
    if fields["input_tokens"] is not None or fields["output_tokens"] is not None:
        fields["total_tokens"] = (fields["input_tokens"] or 0) + (fields["output_tokens"] or 0)
    return Usage(**fields)


def _with_reasoning(usages: Sequence[Usage]) -> int | None:
    """The first output reported; where it lacks the reasoning that a span around it adds, its."""
    output = _first([usage.output_tokens for usage in usages])
    if output is None or usages[0].reasoning_tokens is not None:
        return output
    whole = (
        usage.output_tokens
        for usage in usages[1:]
        if usage.reasoning_tokens and usage.output_tokens == output + usage.reasoning_tokens
    )
    return next(whole, output)


def _first(values: Iterable[T | None]) -> T | None:
    for value in values:
        if value is not None:
            return value
    return None


def model_calls(forest: Forest) -> list[Call]:
    """The calls of models in order of start, each once, however many spans recorded it."""
    visible: dict[int, dict[str, list[Call]]] = {}
    calls: list[Call] = []
    for node in sorted(forest.nodes, key=lambda n: -n.depth):
        below = _gather([visible.pop(id(c)) for c in node.children if id(c) in visible])
        if node.kind in COUNTABLE:
            same = below.setdefault(node.kind, [])
            if not same:
                same.append(Call(node))
                calls.extend(same)
            elif len(same) == 1:
                same[0].nodes.append(node)
        if below and node.kind not in _BARRIERS:
            visible[id(node)] = below
    calls.sort(key=lambda call: call.main.order)
    return _without_preparations(_without_repeats(calls))


def _without_preparations(calls: list[Call]) -> list[Call]:
    """Without ended spans that show no sign of a reply, if other calls of the trace do."""
    if not any(has_usage(call.usage) for call in calls):
        return calls
    return [
        call
        for call in calls
        if has_usage(call.usage)
        or call.output
        or call.response_id
        or call.main.error is not None
        or not call.main.record.end_ns
    ]


def _gather(groups: list[dict[str, list[Call]]]) -> dict[str, list[Call]]:
    """All calls by kind; the longest list is extended, so that deep trees stay linear."""
    if len(groups) < 2:
        return groups[0] if groups else {}
    gathered: dict[str, list[Call]] = {}
    for group in groups:
        for kind, calls in group.items():
            short, long = sorted((gathered.get(kind, []), calls), key=len)
            long.extend(short)
            gathered[kind] = long
    return gathered


def _without_repeats(calls: list[Call]) -> list[Call]:
    """Without calls that another span recorded as well: same response, or a twin."""
    kept: list[Call] = []
    by_response: dict[str, Call] = {}
    alike: dict[tuple[str, int | None, int], list[Call]] = {}
    by_parent: dict[int, list[Call]] = {}
    several = len({call.main.record.scope_name for call in calls}) > 1
    for call in calls:
        known = by_response.get(call.response_id) if call.response_id else None
        if known is not None and _is_same_response(known, call):
            known.nodes = sorted((*known.nodes, *call.nodes), key=_nearest_first)
            _forget(known)
            continue
        others = alike.setdefault(_likeness(call), []) if several else []
        twin = next((other for other in others[-_RECENT:] if _is_twin(other, call)), None)
        siblings = by_parent.setdefault(id(call.nodes[-1].parent), [])
        if twin is None and call.main.record.end_ns == call.main.record.start_ns:
            twin = next((other for other in siblings[-_RECENT:] if _is_reply_to(call, other)), None)
        if twin is not None:
            twin.nodes.extend(call.nodes)
            _forget(twin)
            continue
        others.append(call)
        siblings.append(call)
        kept.append(call)
        if call.response_id:
            by_response[call.response_id] = call
    return kept


def _likeness(call: Call) -> tuple[str, int | None, int]:
    """What twins have in common: kind and tokens; where these are unknown, the same parent."""
    total = call.usage.total_tokens
    return (call.main.kind, total, 0 if total else id(call.nodes[-1].parent))


_CACHED = (
    *("usage", "reported_usd", "list_price_usd", "cost"),
    *("input", "output", "model", "provider", "requested_model", "response_id"),
)


def _forget(call: Call) -> None:
    for name in _CACHED:
        call.__dict__.pop(name, None)


def _is_same_response(one: Call, other: Call) -> bool:
    """Whether two spans with one response id recorded one call, and no reused id."""
    a, b = one.main.record, other.main.record
    if a.scope_name == b.scope_name and _says_otherwise(one, other):
        return False
    if min(a.end_ns, b.end_ns) > max(a.start_ns, b.start_ns):
        return True
    if not has_usage(one.usage) or not has_usage(other.usage):
        return True
    return one.usage.total_tokens == other.usage.total_tokens


def _says_otherwise(one: Call, other: Call) -> bool:
    """Whether both calls recorded their prompts or replies, and not the same."""
    return (bool(one.input and other.input) and not _asked_the_same(one, other)) or (
        has_parts(one.output) and has_parts(other.output) and _said(one) != _said(other)
    )


def _nearest_first(node: Node) -> tuple[int, int]:
    """Orders the spans of one call: the shortest stands nearest to the model."""
    return (node.record.end_ns - node.record.start_ns, node.order)


def _is_twin(one: Call, other: Call) -> bool:
    """Whether spans of different libraries, none inside the other, recorded the same call."""
    scopes = {node.record.scope_name for node in one.nodes}
    if any(node.record.scope_name in scopes for node in other.nodes):
        return False
    if not _at_one_time(one, other):
        return False
    if one.nodes[-1].is_above(other.main) or other.nodes[-1].is_above(one.main):
        return False
    if one.main.runs_beside(other.main) or not _asked_the_same(one, other):
        return False
    return _said(one) == _said(other)


def _asked_the_same(one: Call, other: Call) -> bool:
    """Whether nothing speaks against one prompt; libraries write what is around it differently."""
    return may_be_equal(last_text(one.input, "user"), last_text(other.input, "user"))


def _said(call: Call) -> list[str]:
    """What the call said; some libraries leave out messages that only ask for tools."""
    return [message.text for message in call.output if message.text]


def _at_one_time(one: Call, other: Call) -> bool:
    """Whether two spans overlap as those of one call do.

    Where both report the same tokens, one may be much nearer to the model than the other.
    """
    a, b = one.main.record, other.main.record
    overlap = min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)
    lengths = (a.end_ns - a.start_ns, b.end_ns - b.start_ns)
    if overlap <= 0:
        return False
    if one.usage.total_tokens:
        return overlap >= _OVERLAP_OF_EQUALS * min(lengths)
    return overlap >= _OVERLAP * max(lengths)


def _is_reply_to(call: Call, request: Call) -> bool:
    """Whether the call only reports the reply, streamed, to a request beside it.

    It took no time, and repeats the prompt of the request, which has no answer of its own.
    """
    a, b = request.nodes[-1].record, call.main.record
    if a.scope_name != b.scope_name or not a.start_ns < a.end_ns or has_parts(request.output):
        return False
    same_model = request.requested_model == call.requested_model
    return same_model and request.main.kind == call.main.kind and request.input == call.input


class Totals:
    """Tokens and cost of a trace; the models of spans that stand for calls not recorded."""

    __slots__ = ("cost", "diagnostics", "models", "usage")

    def __init__(self, forest: Forest, calls: list[Call]) -> None:
        self.diagnostics: list[str] = []
        reporting = [call for call in calls if has_usage(call.usage) and not _is_summed(call)]
        counted = [call.usage for call in reporting]
        covered = _ancestors(node for call in reporting for node in call.nodes)
        repeated = {call.response_id for call in reporting if call.response_id}
        groups = [
            node
            for node in _topmost(forest, covered, _reports_usage)
            if to_name(node.reading.first("response_id")) not in repeated
        ]
        counted.extend(node.usage for node in groups)
        self.models = [node.requested_model for node in groups if node.requested_model]
        self.usage = sum_usage(counted)
        if _is_rolled_up_otherwise(reporting, covered):
            self.diagnostics.append("usage_mismatch")
        self.cost = self._cost(forest, calls)

    def _cost(self, forest: Forest, calls: list[Call]) -> Cost:
        reported = [call for call in calls if call.reported_usd is not None]
        covered = _ancestors(node for call in reported for node in call.nodes)
        groups = _topmost(forest, covered, lambda node: bool(node.fields.cost_usd))
        amounts = [call.reported_usd or 0.0 for call in reported]
        amounts += [node.fields.cost_usd or 0.0 for node in groups]
        inside = {id(node) for node in groups}
        estimated = False
        for call in calls:
            if call.reported_usd is not None or _is_inside(call.main, inside):
                continue
            if call.cost.usd is not None:
                amounts.append(call.cost.usd)
                estimated = True
            elif has_usage(call.usage):
                self.diagnostics.append(f"price_unknown:{call.model}")
        if not amounts or any(text.startswith("price_unknown") for text in self.diagnostics):
            return NO_COST
        return Cost(usd=sum(amounts), source="estimated" if estimated else "reported")


def _is_summed(call: Call) -> bool:
    """Whether only the agent around the call tells all that its model calls used."""
    if call.main.fields.dialect not in active().index.agent_sums:
        return False
    return any(n.kind == "agent" and has_usage(n.usage) for n in _upward(call.main.parent))


def _is_rolled_up_otherwise(reporting: Sequence[Call], covered: dict[int, Node]) -> bool:
    """Whether a span's own totals differ from the calls below it: spans were lost or sampled.

    Totals that repeat the last call, or that go on from those of another run, do not differ.
    """
    running_dialects = active().running_totals
    below = _Below(reporting)
    totals = [
        (node, node.usage.total_tokens or 0)
        for node in covered.values()
        if node.kind not in COUNTABLE
        and node.fields.dialect not in running_dialects
        and has_usage(node.usage)
        and below.has_calls(node)
    ]
    running = {0, *(total for _, total in totals)}
    for node, total in totals:
        counted = below.sum(node)
        differs = abs(total - counted) > _MISMATCH * counted
        if differs and total - counted not in running and not below.has_total(node, total):
            return True
    return False


class _Below:
    """The tokens of the calls below a node, found by the places of the calls among all spans."""

    def __init__(self, calls: Sequence[Call]) -> None:
        placed = sorted((call.nodes[-1].position, call.usage.total_tokens or 0) for call in calls)
        self._positions = [position for position, _ in placed]
        self._sums = [0, *accumulate(total for _, total in placed)]
        self._by_total: dict[int, list[int]] = {}
        for position, total in placed:
            self._by_total.setdefault(total, []).append(position)

    def has_calls(self, node: Node) -> bool:
        """Whether any of the calls stands below the node."""
        start, end = _range_below(node, self._positions)
        return start < end

    def has_total(self, node: Node, total: int) -> bool:
        """Whether a call below the node used so many tokens."""
        start, end = _range_below(node, self._by_total.get(total, []))
        return start < end

    def sum(self, node: Node) -> int:
        """The tokens of all calls below the node."""
        start, end = _range_below(node, self._positions)
        return self._sums[end] - self._sums[start]


def _range_below(node: Node, positions: list[int]) -> tuple[int, int]:
    """The slice of sorted places that lie below the node."""
    return bisect_right(positions, node.position), bisect_right(positions, node.last_below)


def _upward(node: Node | None) -> Iterable[Node]:
    """The node and all above it."""
    while node is not None:
        yield node
        node = node.parent


def _reports_usage(node: Node) -> bool:
    return node.kind not in ("mcp", "event") and has_usage(node.usage)


def _ancestors(nodes: Iterable[Node]) -> dict[int, Node]:
    """The nodes and all above them, by identity."""
    found: dict[int, Node] = {}
    for node in nodes:
        for current in _upward(node):
            if id(current) in found:
                break
            found[id(current)] = current
    return found


def _topmost(forest: Forest, covered: dict[int, Node], wanted: Any) -> list[Node]:
    """The topmost wanted nodes that have nothing covered in their subtree."""
    if not any(id(node) not in covered and wanted(node) for node in forest.nodes):
        return []
    found: list[Node] = []
    waiting = list(reversed(forest.roots))
    while waiting:
        node = waiting.pop()
        if id(node) not in covered and wanted(node):
            found.append(node)
            continue
        waiting.extend(reversed(node.children))
    return found


def _is_inside(node: Node, groups: set[int]) -> bool:
    return bool(groups) and any(id(current) in groups for current in _upward(node))


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """The sums; None where nothing was reported."""
    known = list(usages)
    if len(known) < 2:
        return known[0] if known else NO_USAGE
    return Usage(
        input_tokens=_sum([usage.input_tokens for usage in known]),
        output_tokens=_sum([usage.output_tokens for usage in known]),
        cache_read_tokens=_sum([usage.cache_read_tokens for usage in known]),
        cache_write_tokens=_sum([usage.cache_write_tokens for usage in known]),
        reasoning_tokens=_sum([usage.reasoning_tokens for usage in known]),
        total_tokens=_sum([usage.total_tokens for usage in known]),
    )


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
