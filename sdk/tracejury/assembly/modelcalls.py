"""Which spans are model calls, each counted once however many spans recorded it."""

from __future__ import annotations

from tracejury.assembly.forest import Forest
from tracejury.assembly.modelcall import Call, has_usage
from tracejury.assembly.nodes import Node
from tracejury.assembly.spoken import has_parts, last_text
from tracejury.assembly.toolspans import may_be_equal

COUNTABLE = frozenset({"llm", "embedding", "reranker"})
_BARRIERS = frozenset({"tool", "agent"})
# How far twins overlap: of the longer one, or of the shorter where both report the same tokens.
_OVERLAP = 0.9
_OVERLAP_OF_EQUALS = 0.5
# Twins start at nearly the same time: so many calls before one are looked at.
_RECENT = 32


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
