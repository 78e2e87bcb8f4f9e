"""Plans: which rules can hit on spans of one scope and one set of attribute keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from tracejury.dialects.index import INDEXED, Index
from tracejury.dialects.rules import (
    CacheRule,
    EventFlat,
    EventKey,
    EventMessages,
    Field,
    KindRule,
    Rule,
)
from tracejury.dialects.sources import (
    MAX_SEGMENTS,
    Place,
    Reader,
    attribute_place,
    event_flat_reader,
    event_reader,
    flat_reader,
    messages_reader,
    prefixed_reader,
    together_reader,
    transcript_reader,
)
from tracejury.dialects.unread import label, unread_attributes
from tracejury.trace import SpanKind

_MODEL: Final[frozenset[Field]] = frozenset({"model", "request_model"})
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
# Where a kind may stand: an attribute's rule, or the kind itself.
KindPlace = KindRule | SpanKind


class Plan:
    """The rules that can hit, by field, and how the kind is found."""

    __slots__ = (
        "_by_kind",
        "_entries",
        "_kept",
        "cache",
        "dialect",
        "kinds",
        "marked",
        "shape",
        "unread",
        "unread_places",
    )

    def __init__(
        self,
        dialect: str,
        kinds: tuple[KindPlace, ...],
        shape: SpanKind,
        entries: dict[Field, list[Entry]],
        cache: CacheRule | None,
        unread: dict[str, str],
        scope: str,
    ) -> None:
        self.dialect = dialect
        self.kinds = kinds
        self.shape: SpanKind = shape
        self.cache = cache
        self.unread = tuple(unread)
        self.unread_places = tuple(((scope, name), key) for name, key in unread.items())
        self.marked = "truncated" in entries or "redacted" in entries
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

    def entries(self) -> Iterable[Entry]:
        """All rules that can hit, by field and rank."""
        for found in self._entries.values():
            yield from found

    def _select(self, kind: str) -> Places:
        selected = {
            field: tuple(e[3] for e in entries if not e[2].kinds or kind in e[2].kinds)
            for field, entries in self._entries.items()
        }
        return {field: places for field, places in selected.items() if places}


def compile_plan(
    index: Index, scope: str, mark: str, attributes: Mapping[str, Any], events: tuple[str, ...]
) -> Plan:
    """The plan for spans of a scope with these attributes' keys and event names.

    `mark` is the dialect that the resource names, "" if it names none.
    """
    keys = tuple(attributes)
    entries: dict[Field, list[Entry]] = defaultdict(list)
    for order, rule, place in _entries(index, keys, events):
        entries[rule.field].append((rule.rank, order, rule, place))
    for found in entries.values():
        found.sort(key=lambda entry: entry[:2])
    dialect = _dialect(index, scope, mark, keys)
    return Plan(
        dialect,
        _kinds(index, keys, events),
        _shape(entries, keys),
        dict(entries),
        _cache_rule(index, scope, keys),
        unread_attributes(index, dialect, attributes, events),
        label(scope),
    )


def _kinds(index: Index, keys: tuple[str, ...], events: tuple[str, ...]) -> tuple[KindPlace, ...]:
    found: list[tuple[int, KindPlace]] = [
        (rule.rank, rule) for key in keys if key in index.kinds for rule in index.kinds[key]
    ]
    found += [(r.rank, r.kind) for name in events for r in index.event_kinds.get(name, ())]
    found.sort(key=lambda entry: entry[0])
    places: list[KindPlace] = []
    for _, place in found:
        last = places[-1] if places else None
        if isinstance(last, KindRule) and isinstance(place, KindRule) and _are_one(last, place):
            places[-1] = replace(place, values={**place.values, **last.values})
        else:
            places.append(place)
    return tuple(places)


def _are_one(first: KindRule, second: KindRule) -> bool:
    """Whether rules one after the other compare one attribute, so that once is enough."""
    plain = not (first.member or first.endings or first.always or second.member)
    return plain and first.key == second.key


def _cache_rule(index: Index, scope: str, keys: tuple[str, ...]) -> CacheRule | None:
    """The rule that says whether input tokens of these spans contain the cached ones."""
    return next(
        (
            rule
            for rule in index.cache
            if (not rule.scopes or scope.startswith(rule.scopes))
            and all(key in keys for key in rule.present)
            and not any(key in keys for key in rule.absent)
        ),
        None,
    )


def _entries(
    index: Index, keys: tuple[str, ...], events: tuple[str, ...]
) -> Iterable[tuple[int, Rule, Place]]:
    for key in keys:
        for order, rule in index.attributes.get(key, ()):
            if (place := attribute_place(rule)) is not None:
                yield order, rule, place
    yield from _flat_entries(index, keys)
    for order, rule, prefixed, prefix in index.prefixed:
        below = [key for key in keys if key.startswith(prefix)]
        if below:
            yield order, rule, prefixed_reader(prefixed, below)
    for order, rule, together in index.together:
        if any(key in keys for _, members in together.members for key in members):
            yield order, rule, together_reader(together)
    seen: set[int] = set()
    for order, rule in (entry for name in events for entry in index.events.get(name, ())):
        if order not in seen and (reader := _event_entry(rule)) is not None:
            seen.add(order)
            yield order, rule, reader


def _event_entry(rule: Rule) -> Reader | None:
    source = rule.source
    if isinstance(source, EventMessages):
        return messages_reader(source)
    if isinstance(source, EventFlat):
        return event_flat_reader(source)
    if rule.guard == "transcript" and isinstance(source, EventKey):
        return transcript_reader(source)
    return event_reader(source) if isinstance(source, EventKey) else None


def _flat_entries(index: Index, keys: tuple[str, ...]) -> Iterable[tuple[int, Rule, Place]]:
    groups: dict[str, list[tuple[list[str], str]]] = defaultdict(list)
    for key in keys:
        match = INDEXED.match(key)
        if match and match[1] in index.flat:
            segments = match[2].split(".")
            if len(segments) <= MAX_SEGMENTS:
                groups[match[1]].append((segments, key))
    for prefix, group in groups.items():
        if (reader := flat_reader(group)) is not None:
            for order, rule in index.flat[prefix]:
                yield order, rule, reader


def _dialect(index: Index, scope: str, mark: str, keys: tuple[str, ...]) -> str:
    if named := index.of_scope(scope) or mark:
        return named
    for dialect in index.dialects:
        if dialect.prefixes and any(key.startswith(dialect.prefixes) for key in keys):
            return _older(dialect.name, scope, keys)
    return index.dialects[-1].name if any(key in index.attributes for key in keys) else ""


def _older(name: str, scope: str, keys: tuple[str, ...]) -> str:
    """OpenLLMetry's libraries share the scope names of OpenTelemetry's own and have other keys."""
    if name != "otel_genai" or not scope.startswith("opentelemetry.instrumentation."):
        return name
    marks = ("gen_ai.prompt.", "gen_ai.completion.", "llm.")
    return "openllmetry" if any(key.startswith(marks) for key in keys) else name


def _shape(entries: Mapping[Field, list[Entry]], keys: tuple[str, ...]) -> SpanKind:
    """The kind that the attributes suggest where none says it.

    A rule that holds only for some kinds of spans names no model here.
    """
    if "documents" in entries and any(".documents" in key for key in keys):
        return "retriever"
    if any(key.startswith("embedding.") for key in keys):
        return "embedding"
    named = any(
        not rule.kinds for field in _MODEL.intersection(entries) for _, _, rule, _ in entries[field]
    )
    if named and entries.keys() & _TALK:
        return "llm"
    if "gen_ai.agent.name" in keys or "agent.name" in keys:
        return "agent"
    return "workflow" if "input" in entries or "output" in entries else "unknown"
