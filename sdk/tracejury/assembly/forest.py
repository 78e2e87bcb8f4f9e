"""The spans of a trace as a forest: duplicates dropped, logs joined, cycles cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracejury.assembly.logs import join_logs
from tracejury.assembly.nodes import Node
from tracejury.assembly.recorded import recorded_spans
from tracejury.dialects.decode import to_text
from tracejury.trace import LogRecord, SpanRecord


class Forest:
    """The nodes of a trace in order of start, and the roots among them."""

    __slots__ = ("nodes", "roots")

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.roots = [node for node in nodes if node.parent is None]


def build_forest(spans: Iterable[SpanRecord], logs: Sequence[LogRecord] = ()) -> Forest:
    """The trace's spans in their places; the same for any order of arrival."""
    records = distinct(spans)
    joined = join_logs(records, logs) if logs else {}
    nodes = {
        record.span_id: Node(record, joined.get(record.span_id, record.events))
        for record in records
    }
    told = recorded_spans(records, logs, [node.kind for node in nodes.values()])
    nodes.update({record.span_id: Node(record, ()) for record in told})
    for node in nodes.values():
        parent = nodes.get(node.record.parent_span_id) if node.record.parent_span_id else None
        if parent is not None and parent is not node:
            node.parent = parent
            parent.children.append(node)
    if _set_depths(nodes.values()) < len(nodes):
        _cut_cycles(nodes.values())
        _set_depths(nodes.values())
    ordered = sorted(nodes.values(), key=_place)
    for position, node in enumerate(ordered):
        node.order = position
    for node in ordered:
        node.children.sort(key=_order)
    forest = Forest(ordered)
    _set_positions(forest.roots)
    return forest


def _place(node: Node) -> tuple[int, int, int, str]:
    record = node.record
    return (record.start_ns, node.depth, record.end_ns, record.span_id)


def _order(node: Node) -> int:
    return node.order


def distinct(spans: Iterable[SpanRecord]) -> list[SpanRecord]:
    """One record per span id, in order of id: the ended version wins, then the fuller one.

    Logfire announces spans by others of their own ids, which are none of the trace.
    """
    best: dict[str, SpanRecord] = {}
    for span in spans:
        known = best.get(span.span_id)
        if known is None or (known is not span and _is_better(span, known)):
            best[span.span_id] = span
    found = [best[span_id] for span_id in sorted(best)]
    return [s for s in found if s.attributes.get("logfire.span_type") != "pending_span"]


def _is_better(span: SpanRecord, known: SpanRecord) -> bool:
    ours, theirs = _fullness(span), _fullness(known)
    return ours > theirs or (ours == theirs and _canonical(span) > _canonical(known))


def _fullness(span: SpanRecord) -> tuple[bool, int, int, int, int]:
    return (bool(span.end_ns), span.end_ns, len(span.attributes), len(span.events), span.seq)


def _canonical(span: SpanRecord) -> str:
    return repr((span.name, span.parent_span_id, span.start_ns, span.status, span)) + to_text(
        dict(sorted(span.attributes.items()))
    )


def _cut_cycles(nodes: Iterable[Node]) -> None:
    """Cut each cycle of parents at its earliest span."""
    done: set[str] = set()
    for node in nodes:
        path: dict[str, Node] = {}
        current: Node | None = node
        while current is not None and current.span_id not in done:
            if current.span_id in path:
                members = list(path.values())
                cycle = members[members.index(current) :]
                _make_root(min(cycle, key=lambda n: (n.record.start_ns, n.span_id)))
                break
            path[current.span_id] = current
            current = current.parent
        done.update(path)


def _make_root(node: Node) -> None:
    if node.parent is not None:
        node.parent.children.remove(node)
        node.parent = None


def _set_positions(roots: Sequence[Node]) -> None:
    """Number the nodes so that those below a node follow it without a gap; name their agents."""
    placed: list[Node] = []
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        node.position = len(placed)
        if node.parent is not None:
            node.agent = node.parent if node.parent.kind == "agent" else node.parent.agent
        placed.append(node)
        waiting.extend(reversed(node.children))
    for node in reversed(placed):
        node.last_below = node.children[-1].last_below if node.children else node.position


def _set_depths(nodes: Iterable[Node]) -> int:
    """The number of nodes reached from the roots; all of them unless there are cycles."""
    reached = [node for node in nodes if node.parent is None]
    for node in reached:
        for child in node.children:
            child.depth = node.depth + 1
            reached.append(child)
    return len(reached)
