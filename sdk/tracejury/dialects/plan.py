"""Plans: which rules can hit on spans of one scope and one set of attribute keys."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tracejury.dialects import (
    generic,
    google_adk,
    haystack,
    laminar,
    langfuse,
    langsmith,
    mastra,
    mlflow,
    openinference,
    openllmetry,
    otel_genai,
    pydantic_ai,
    vercel_ai,
)
from tracejury.dialects.rules import (
    Attr,
    Dialect,
    EventKey,
    EventMessages,
    Field,
    Flat,
    Inside,
    KindRule,
    Prefixed,
    Rule,
    Together,
)
from tracejury.dialects.sources import (
    MAX_SEGMENTS,
    Place,
    Reader,
    attribute_place,
    event_reader,
    flat_reader,
    messages_reader,
    prefixed_reader,
    together_reader,
)
from tracejury.trace import SpanKind

# In order of recognition: the first whose scope fits names the span, else the first whose prefix.
DIALECTS: Final[tuple[Dialect, ...]] = (
    langfuse.DIALECT,
    google_adk.DIALECT,
    pydantic_ai.DIALECT,
    openinference.DIALECT,
    openllmetry.DIALECT,
    vercel_ai.DIALECT,
    langsmith.DIALECT,
    mlflow.DIALECT,
    laminar.DIALECT,
    mastra.DIALECT,
    haystack.DIALECT,
    otel_genai.DIALECT,
    generic.DIALECT,
)
_INDEXED = re.compile(r"^(.+?)\.(\d{1,5}(?:\..*)?)$")
_MODEL: Final = frozenset({"model", "request_model"})
_TALK: Final = frozenset(
    {"input", "output", "input_tokens", "output_tokens", "response_id", "finish_reasons"}
)

# The fields kept beside the span, by the form of their values.
KEPT: Final[dict[Field, str]] = {
    **dict.fromkeys(
        (
            "session_id",
            "user_id",
            "agent_name",
            "model",
            "operation",
            "tool_name",
            "tool_call_id",
            "error_type",
            "error_message",
        ),
        "name",
    ),
    **dict.fromkeys(("input", "output", "tool_arguments", "tool_result"), "content"),
    **dict.fromkeys(
        (
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "reasoning_tokens",
        ),
        "count",
    ),
    "provider": "provider",
}

Places = dict[Field, tuple[Place, ...]]
Entry = tuple[int, int, Rule, Place]


class Plan:
    """The rules that can hit, by field, and how the kind is found."""

    __slots__ = ("_by_kind", "_entries", "_kept", "dialect", "kind_rules", "shape")

    def __init__(
        self,
        dialect: str,
        kind_rules: tuple[KindRule, ...],
        shape: SpanKind,
        entries: dict[Field, list[Entry]],
    ) -> None:
        self.dialect = dialect
        self.kind_rules = kind_rules
        self.shape: SpanKind = shape
        self._entries = entries
        self._by_kind: dict[str, Places] = {}
        self._kept: dict[str, tuple[tuple[Field, str, tuple[Place, ...]], ...]] = {}

    def kept(self, kind: str) -> tuple[tuple[Field, str, tuple[Place, ...]], ...]:
        """Of the places, those of fields that are kept beside the span, with their forms."""
        found = self._kept.get(kind)
        if found is None:
            places = self.places(kind)
            found = self._kept[kind] = tuple(
                (field, form, places[field]) for field, form in KEPT.items() if field in places
            )
        return found

    def places(self, kind: str) -> Places:
        """For each field that may be found on a span of this kind, its places in order."""
        found = self._by_kind.get(kind)
        if found is None:
            found = self._by_kind[kind] = self._select(kind)
        return found

    def _select(self, kind: str) -> Places:
        selected = {
            field: tuple(e[3] for e in entries if not e[2].kinds or kind in e[2].kinds)
            for field, entries in self._entries.items()
        }
        return {field: places for field, places in selected.items() if places}


class _Index:
    """The rules of all dialects by what they look at."""

    def __init__(self, dialects: Iterable[Dialect]) -> None:
        self.attributes: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        self.flat: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        self.prefixed: list[tuple[int, Rule, str]] = []
        self.together: list[tuple[int, Rule, Together]] = []
        self.events: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        self.kinds: dict[str, list[KindRule]] = defaultdict(list)
        order = 0
        for dialect in dialects:
            for rule in dialect.rules:
                order += 1
                self._add(order, rule)
            for kind in dialect.kinds:
                self.kinds[kind.key].append(kind)

    def _add(self, order: int, rule: Rule) -> None:
        source = rule.source
        if isinstance(source, Attr | Inside):
            self.attributes[source.key].append((order, rule))
        elif isinstance(source, Flat):
            self.flat[source.prefix].append((order, rule))
        elif isinstance(source, Together):
            self.together.append((order, rule, source))
        elif isinstance(source, Prefixed):
            self.prefixed.append((order, rule, source.prefix + "."))
        elif isinstance(source, EventKey):
            self.events[source.event].append((order, rule))
        else:
            for name in source.roles:
                self.events[name].append((order, rule))


_INDEX: Final = _Index(DIALECTS)


def is_read(key: str) -> bool:
    """Whether some rule of some dialect reads this attribute."""
    match = _INDEXED.match(key)
    return (
        key in _INDEX.attributes
        or key in _INDEX.kinds
        or (match is not None and match[1] in _INDEX.flat)
        or any(key.startswith(prefix) for _, _, prefix in _INDEX.prefixed)
        or any(key in keys for _, _, t in _INDEX.together for _, keys in t.members)
    )


def compile_plan(scope: str, keys: tuple[str, ...], events: tuple[str, ...]) -> Plan:
    """The plan for spans of a scope with these attribute keys and event names."""
    entries: dict[Field, list[Entry]] = defaultdict(list)
    for order, rule, place in _entries(keys, events):
        entries[rule.field].append((rule.rank, order, rule, place))
    for found in entries.values():
        found.sort(key=lambda entry: entry[:2])
    kinds = [rule for key in keys if key in _INDEX.kinds for rule in _INDEX.kinds[key]]
    kinds.sort(key=lambda rule: rule.rank)
    return Plan(_dialect(scope, keys), tuple(kinds), _shape(entries, keys), dict(entries))


def _entries(keys: tuple[str, ...], events: tuple[str, ...]) -> Iterable[tuple[int, Rule, Place]]:
    for key in keys:
        for order, rule in _INDEX.attributes.get(key, ()):
            if (place := attribute_place(rule)) is not None:
                yield order, rule, place
    yield from _flat_entries(keys)
    for order, rule, prefix in _INDEX.prefixed:
        below = [key for key in keys if key.startswith(prefix)]
        if below and isinstance(rule.source, Prefixed):
            yield order, rule, prefixed_reader(rule.source, below)
    for order, rule, together in _INDEX.together:
        if any(key in keys for _, members in together.members for key in members):
            yield order, rule, together_reader(together)
    seen: set[int] = set()
    for order, rule in (entry for name in events for entry in _INDEX.events.get(name, ())):
        if order not in seen:
            seen.add(order)
            yield order, rule, _event_entry(rule)


def _event_entry(rule: Rule) -> Reader:
    source = rule.source
    if isinstance(source, EventMessages):
        return messages_reader(source)
    assert isinstance(source, EventKey)
    return event_reader(source)


def _flat_entries(keys: tuple[str, ...]) -> Iterable[tuple[int, Rule, Place]]:
    groups: dict[str, list[tuple[list[str], str]]] = defaultdict(list)
    for key in keys:
        match = _INDEXED.match(key)
        if match and match[1] in _INDEX.flat:
            segments = match[2].split(".")
            if len(segments) <= MAX_SEGMENTS:
                groups[match[1]].append((segments, key))
    for prefix, group in groups.items():
        if (reader := flat_reader(group)) is not None:
            for order, rule in _INDEX.flat[prefix]:
                yield order, rule, reader


def _dialect(scope: str, keys: tuple[str, ...]) -> str:
    for dialect in DIALECTS:
        if scope and dialect.scopes and scope.startswith(dialect.scopes):
            return dialect.name
    for dialect in DIALECTS:
        if dialect.prefixes and any(key.startswith(dialect.prefixes) for key in keys):
            return _older(dialect.name, scope, keys)
    return DIALECTS[-1].name if any(key in _INDEX.attributes for key in keys) else ""


def _older(name: str, scope: str, keys: tuple[str, ...]) -> str:
    """OpenLLMetry's libraries share the scope names of OpenTelemetry's own and have other keys."""
    if name != "otel_genai" or not scope.startswith("opentelemetry.instrumentation."):
        return name
    marks = ("gen_ai.prompt.", "gen_ai.completion.", "llm.")
    return "openllmetry" if any(key.startswith(marks) for key in keys) else name


def _shape(entries: Mapping[Field, Any], keys: tuple[str, ...]) -> SpanKind:
    """The kind that the attributes suggest where none says it."""
    if "documents" in entries and any(".documents" in key for key in keys):
        return "retriever"
    if any(key.startswith("embedding.") for key in keys):
        return "embedding"
    if entries.keys() & _MODEL and entries.keys() & _TALK:
        return "llm"
    if "gen_ai.agent.name" in keys or "agent.name" in keys:
        return "agent"
    return "workflow" if "input" in entries or "output" in entries else "unknown"
