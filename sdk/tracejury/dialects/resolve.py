"""Canonical fields of a span, found field by field over all dialects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tracejury.dialects.active import Tables, active
from tracejury.dialects.decode import (
    decode,
    is_redacted,
    is_truncated,
    to_amount,
    to_content,
    to_int,
    to_name,
)
from tracejury.dialects.plan import Plan
from tracejury.dialects.rules import Field, KindRule
from tracejury.dialects.sources import Attributes, Events, Place
from tracejury.trace import SpanKind

_NO_RESOURCE: Final[Mapping[str, Any]] = {}


class Fields:
    """The canonical fields of one span; "" or None where nothing was recorded."""

    __slots__ = (
        "agent_name",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost_usd",
        "dialect",
        "error_message",
        "error_type",
        "input",
        "input_tokens",
        "kind",
        "model",
        "operation",
        "output",
        "output_tokens",
        "provider",
        "reasoning_tokens",
        "redacted",
        "session_id",
        "tool_arguments",
        "tool_call_id",
        "tool_name",
        "tool_result",
        "truncated",
        "user_id",
        "whole",
    )

    def __init__(self, kind: SpanKind, dialect: str) -> None:
        self.kind: SpanKind = kind
        self.dialect = dialect
        self.whole: dict[str, str] = {}
        """The attributes that are a field's text as they stand, by the field."""
        self.session_id = self.user_id = self.agent_name = self.provider = self.model = ""
        self.operation = self.tool_name = self.tool_call_id = ""
        self.error_type = self.error_message = ""
        self.input: str | None = None
        self.output: str | None = None
        self.tool_arguments: str | None = None
        self.tool_result: str | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cache_read_tokens: int | None = None
        self.cache_write_tokens: int | None = None
        self.reasoning_tokens: int | None = None
        self.cost_usd: float | None = None
        self.redacted = self.truncated = False


class Reading:
    """A span under its plan: any canonical field of it can be asked for."""

    __slots__ = (
        "_found",
        "_places",
        "attributes",
        "dialect",
        "events",
        "kind",
        "name",
        "plan",
        "tables",
    )

    def __init__(
        self, tables: Tables, plan: Plan, name: str, attributes: Attributes, events: Events
    ) -> None:
        self.tables = tables
        self.kind: SpanKind = _kind(tables, plan, name, attributes)
        self.dialect = plan.dialect
        self.name = name
        self.attributes = attributes
        self.events = events
        self._found: dict[Place, Any] = {}
        self.plan = plan
        self._places = plan.places(self.kind)

    def all(self, field: Field) -> Iterator[Any]:
        """All values recorded for the field, the most trusted first."""
        for place in self._places.get(field, ()):
            value = self.value(place)
            if value is not None and value != "":
                yield value

    def first(self, field: Field) -> Any:
        """The most trusted value recorded for the field, or None."""
        for place in self._places.get(field, ()):
            value = self.value(place)
            if value is not None and value != "":
                return value
        return None

    def fields(self) -> Fields:
        """The canonical fields that are kept beside the span."""
        fields = Fields(self.kind, self.dialect)
        attributes = self.attributes
        for field, form, places in self.plan.kept(self.kind):
            for place in places:
                value = attributes[place] if type(place) is str else self.value(place)
                found: Any
                if form == "name":
                    found = to_name(value)
                elif form == "content":
                    found = _content(value, fields)
                elif form == "count":
                    found = to_int(value)
                else:
                    found = (name := to_name(value)) and self.tables.provider_name(name)
                if found is not None and found != "":
                    setattr(fields, field, found)
                    if found is value and type(place) is str:
                        fields.whole[field] = place
                    break
        if "cost_usd" in self._places or "cost_part" in self._places:
            fields.cost_usd = self._cost()
        if self.kind == "tool" and not fields.tool_name:
            fields.tool_name = self.tables.name_part(self.name, "tool") or self.name
        elif self.kind == "agent" and not fields.agent_name:
            fields.agent_name = self.tables.name_part(self.name, "agent")
        if self.plan.marked:
            removed = self.first("redacted")
            fields.redacted = fields.redacted or is_true(removed) or isinstance(removed, list)
            fields.truncated = fields.truncated or is_true(self.first("truncated"))
        return fields

    def value(self, place: Place) -> Any:
        """What stands at the place; what has to be put together is put together once."""
        if isinstance(place, str):
            return self.attributes[place]
        if place not in self._found:
            self._found[place] = place(self.attributes, self.events)
        return self._found[place]

    def winner(self, field: Field) -> Place | None:
        """The most trusted place where something is recorded for the field."""
        places = self._places.get(field, ())
        return next((p for p in places if self.value(p) not in (None, "")), None)

    def _cost(self) -> float | None:
        for value in self.all("cost_usd"):
            if (cost := to_amount(value)) is not None:
                return cost
        parts = [cost for value in self.all("cost_part") if (cost := to_amount(value)) is not None]
        return sum(parts) if parts else None


def _content(value: Any, fields: Fields) -> str | None:
    """The recorded text; marks of removal and truncation are noted beside it."""
    text = to_content(value)
    if text is None:
        if is_redacted(value):
            fields.redacted = True
    elif is_truncated(text):
        fields.truncated = True
    return text


def is_true(value: Any) -> bool:
    """Whether the value says yes, as libraries write it."""
    return value is True or (isinstance(value, str) and value.lower() in ("true", "error"))


def read(
    *,
    scope_name: str,
    name: str,
    attributes: Attributes,
    events: Events = (),
    resource: Mapping[str, Any] = _NO_RESOURCE,
) -> Reading:
    """The span under its plan."""
    tables = active()
    names = tuple([event[0] for event in events]) if events else ()
    plan = tables.plan(scope_name, resource, attributes, names)
    return Reading(tables, plan, name, attributes, events)


def resolve(
    *,
    scope_name: str,
    resource: Mapping[str, Any],
    name: str,
    attributes: Mapping[str, Any],
    events: Sequence[tuple[str, Mapping[str, Any]]],
    otel_kind: str = "unspecified",
) -> Fields:
    """The canonical fields of a span; never raises, whatever the attributes hold.

    Attributes that look like GenAI content and that no rule reads are counted.
    """
    del otel_kind
    reading = read(
        scope_name=scope_name, name=name, attributes=attributes, events=events, resource=resource
    )
    if reading.plan.unread:
        reading.tables.count_unread(reading.plan, attributes)
    return reading.fields()


def _kind(tables: Tables, plan: Plan, name: str, attributes: Attributes) -> SpanKind:
    kind: SpanKind | None = None
    for place in plan.kinds:
        kind = place if isinstance(place, str) else rule_kind(place, attributes[place.key])
        if kind is not None:
            break
    if kind is None:
        kind = tables.name_kind(name) or plan.shape if plan.shape in _WEAK else plan.shape
    if kind == "tool" or kind == "step":
        return tables.override(name) or kind
    return kind


_WEAK: Final = frozenset({"unknown", "workflow", "agent"})


def rule_kind(rule: KindRule, value: Any) -> SpanKind | None:
    """The kind that an attribute's value tells; None if it tells none."""
    if rule.member:
        data = decode(value)
        value = data.get(rule.member) if isinstance(data, dict) else None
    if not isinstance(value, str):
        return rule.always
    found = rule.values.get(value)
    if found is None and value:
        found = rule.values.get(value.strip('" ').lower())
    if found is None and rule.endings:
        found = next((kind for end, kind in rule.endings.items() if value.endswith(end)), None)
    return found or (rule.always if value else None)
