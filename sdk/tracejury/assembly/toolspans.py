"""Tool calls that ran: their spans, nested ones that mean the same call taken together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from tracejury.assembly import unwrap
from tracejury.assembly.forest import Forest
from tracejury.assembly.nodes import Node
from tracejury.dialects.decode import decode, is_blank, to_text
from tracejury.trace import SpanError

_NOT_IDS = frozenset({"unknown", "none", "null", "<not specified>"})
_MCP = re.compile(r"^mcp__[^_].*?__(.+)$")
_FUNCTIONS = frozenset({"unknown", "workflow", "step"})
_UNEXPLAINED = SpanError()
# Twins start at nearly the same time: so many calls before one are looked at.
_RECENT = 32
# Of longer names only the start is compared, and kept in memory.
_MOST_CHARS = 256
_SEPARATED = re.compile(r"[./:]")


def plain_name(name: str) -> str:
    """The name for comparing: letters, digits, `_` and `-`, without the prefix of an MCP server."""
    return _plain_name(name[:_MOST_CHARS])


@lru_cache(maxsize=4096)
def _plain_name(name: str) -> str:
    text = unicodedata.normalize("NFKC", name).strip().replace(" ", "_")
    match = _MCP.match(text)
    text = match[1] if match else text
    return re.sub(r"[^A-Za-z0-9_\-./:]", "", text)[:128]


def same_name(one: str, other: str) -> bool:
    """Whether both names mean one tool: equal, or one has a framework's prefix or suffix."""
    a, b = plain_name(one), plain_name(other)
    return a in _short_names(b) or b in _short_names(a)


@lru_cache(maxsize=4096)
def _short_names(plain: str) -> frozenset[str]:
    """The plain name, and those that it stands for if the rest is a framework's."""
    numbered = (plain[size:] for size in (1, 2, 3) if plain[size - 1 : size] == "-")
    return frozenset((plain, *_SEPARATED.split(plain), *numbered)) - {""}


class Names:
    """Names of tools, to be found by any name that means the same tool."""

    def __init__(self, names: Iterable[str]) -> None:
        self._order: dict[str, int] = {}
        self._plain: dict[str, list[str]] = {}
        self._short: dict[str, list[str]] = {}
        for name in dict.fromkeys(names):
            self._order[name] = len(self._order)
            plain = plain_name(name)
            self._plain.setdefault(plain, []).append(name)
            for short in _short_names(plain):
                self._short.setdefault(short, []).append(name)

    def same_as(self, name: str) -> list[str]:
        """The names that mean the same tool, in the order in which they were given."""
        plain = plain_name(name)
        found = {*self._short.get(plain, ())}
        found.update(known for short in _short_names(plain) for known in self._plain.get(short, ()))
        return sorted(found, key=self._order.__getitem__)

    def __contains__(self, name: str) -> bool:
        return name in self._order


class Ran:
    """A tool call that has a span, be it the span of a plain function."""

    __slots__ = ("arguments", "dispatched", "error", "id", "name", "node", "output")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.name = node.fields.tool_name or node.record.name
        self.error: SpanError | None = node.error
        self.dispatched = ""
        self.arguments, inner_id = self._arguments()
        found = self._output()
        self.output: Any = found.value
        self.id = node.fields.tool_call_id or inner_id or found.id
        if self.id.lower() in _NOT_IDS:
            self.id = ""
        if (found.is_error and self.error is None) or self.error == _UNEXPLAINED:
            self.error = SpanError(message=unwrap.output_text(found.value))

    def _arguments(self) -> tuple[Any, str]:
        for value in self.node.reading.all("tool_arguments"):
            if not is_blank(value):
                data = decode(value)
                self.dispatched = unwrap.dispatched_name(data)
                found = unwrap.arguments(data)
                if found[0] is not None:
                    return found
        return None, ""

    def _output(self) -> unwrap.Output:
        for value in self.node.reading.all("tool_result"):
            if not is_blank(value):
                return unwrap.output(value)
        if self.node.kind != "tool" and self.node.fields.output:
            return unwrap.output(self.node.fields.output)
        return unwrap.Output(None)

    @property
    def output_text(self) -> str:
        """What the span itself records as output."""
        return (self.node.fields.output or "").strip()

    def fill(self, inner: Ran) -> None:
        """Take from a span inside this one what this one lacks."""
        if self.arguments is None or (
            not isinstance(self.arguments, dict) and isinstance(inner.arguments, dict)
        ):
            self.arguments = inner.arguments
        self.output = inner.output if self.output is None else self.output
        self.id = self.id or inner.id
        self.error = self.error or inner.error


def tool_runs(forest: Forest) -> list[Ran]:
    """The calls that ran, in order of start; nested spans of one call are one."""
    runs: list[Ran] = []
    outer: dict[int, Ran] = {}
    for node in sorted(forest.nodes, key=lambda n: n.depth):
        around = outer.get(id(node.parent)) if node.parent is not None else None
        if node.kind in ("llm", "agent"):
            around = None
        if node.kind != "tool":
            if around is not None:
                outer[id(node)] = around
            continue
        ran = Ran(node)
        if around is not None and _is_same(around, ran):
            around.fill(ran)
            ran = around
        else:
            runs.append(ran)
        outer[id(node)] = ran
    return _without_twins(sorted(runs, key=lambda ran: ran.node.order))


def function_runs(forest: Forest, names: Iterable[str], results: set[str]) -> list[Ran]:
    """The runs of tools that were traced as plain functions, the outermost of each.

    A function is a tool's if a model asked for one of its name, or was handed its output.
    """
    wanted = {plain_name(name) for name in names}
    found: dict[int, Ran] = {}
    for node in sorted(forest.nodes, key=lambda n: n.depth) if wanted or results else ():
        if node.kind not in _FUNCTIONS or (node.parent is not None and id(node.parent) in found):
            continue
        if plain_name(node.record.name) in wanted or (node.fields.output or "").strip() in results:
            found[id(node)] = Ran(node)
    return sorted(found.values(), key=lambda ran: ran.node.order)


def _is_same(outer: Ran, inner: Ran) -> bool:
    if outer.id and outer.id == inner.id:
        return True
    return same_name(outer.name, inner.name)


def _without_twins(runs: list[Ran]) -> list[Ran]:
    """Without calls that another library recorded as well, outside the first one's span.

    Each library records a call once: its next span like this one is another call.
    """
    if len({ran.node.record.scope_name for ran in runs}) < 2:
        return runs
    kept: list[Ran] = []
    alike: dict[str, list[tuple[Ran, set[str]]]] = {}
    for ran in runs:
        scope, marks = ran.node.record.scope_name, _marks(ran)
        known = [entry for mark in marks for entry in alike.get(mark, [])[-_RECENT:]]
        twin = next((e for e in known if scope not in e[1] and _is_twin(e[0], ran)), None)
        if twin is not None:
            twin[0].fill(ran)
            twin[1].add(scope)
            continue
        entry = (ran, {scope})
        for mark in marks:
            alike.setdefault(mark, []).append(entry)
        kept.append(ran)
    return kept


def _marks(ran: Ran) -> list[str]:
    """What twins have in common: the id, or the arguments, of which a sole one may stand bare."""
    data = ran.arguments
    if isinstance(data, dict) and len(data) == 1:
        (data,) = data.values()
    return [*([f"id:{ran.id}"] if ran.id else []), to_text(data)]


def _is_twin(one: Ran, other: Ran) -> bool:
    """Whether spans of two libraries, none inside the other, recorded one call."""
    a, b = one.node.record, other.node.record
    meet = a.end_ns > b.start_ns and b.end_ns > a.start_ns
    same_id = bool(one.id) and one.id == other.id
    alike = meet and not (one.id and other.id) and _gave_the_same(one, other)
    return (
        (same_id or (alike and not one.node.runs_beside(other.node)))
        and same_name(one.name, other.name)
        and not one.node.is_above(other.node)
        and not other.node.is_above(one.node)
    )


def _gave_the_same(one: Ran, other: Ran) -> bool:
    """Whether nothing speaks against one output; a library may add to it, or cut it off."""
    if one.node.fields.truncated or other.node.fields.truncated:
        return True
    return may_be_equal(unwrap.output_text(one.output), unwrap.output_text(other.output))


def may_be_equal(one: str, other: str) -> bool:
    """Whether both texts may be records of one: one is unknown, or stands in the other."""
    return one.strip() in other or other.strip() in one
