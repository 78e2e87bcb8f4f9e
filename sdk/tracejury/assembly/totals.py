"""What a trace used and cost, over calls that are counted once each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from tracejury.assembly.forest import Forest
from tracejury.assembly.modelcall import Call, has_usage
from tracejury.assembly.modelcalls import COUNTABLE
from tracejury.assembly.nodes import NO_COST, NO_USAGE, Node, upward
from tracejury.assembly.spanusage import assumes_cache
from tracejury.dialects.active import active
from tracejury.dialects.decode import to_name
from tracejury.trace import Cost, Usage

_MISMATCH = 0.05


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
        if any(_assumes_cache(call.main) for call in reporting):
            self.diagnostics.append("cache_basis_assumed")
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


def _assumes_cache(node: Node) -> bool:
    return assumes_cache(node.fields, node.reading, node.usage)


def _is_summed(call: Call) -> bool:
    """Whether only the agent around the call tells all that its model calls used."""
    if call.main.fields.dialect not in active().index.agent_sums:
        return False
    return any(n.kind == "agent" and has_usage(n.usage) for n in upward(call.main.parent))


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


def _reports_usage(node: Node) -> bool:
    return node.kind not in ("mcp", "event") and has_usage(node.usage)


def _ancestors(nodes: Iterable[Node]) -> dict[int, Node]:
    """The nodes and all above them, by identity."""
    found: dict[int, Node] = {}
    for node in nodes:
        for current in upward(node):
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
    return bool(groups) and any(id(current) in groups for current in upward(node))


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
