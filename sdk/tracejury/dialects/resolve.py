"""Canonical fields of a span, found field by field over all dialects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from tracejury.dialects.decode import (
    is_redacted,
    is_truncated,
    to_amount,
    to_content,
    to_int,
    to_name,
)
from tracejury.dialects.plan import DIALECTS, Plan, compile_plan
from tracejury.dialects.rules import Field, KindRule
from tracejury.dialects.sources import Attributes, Events, Place
from tracejury.trace import SpanKind

MAX_PLANS = 2048
MAX_CACHED_KEYS = 512
MAX_NAME_CHARS = 512
_PLANS: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Plan] = {}
_NOT_PROVIDERS: Final = frozenset(name for d in DIALECTS for name in d.not_providers)
_API_SUFFIX = re.compile(r"\.(?:chat|responses|messages|completions?)$")
_NAMES: Final = tuple((re.compile(r.pattern), r) for d in DIALECTS for r in d.names)


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
    )

    def __init__(self, kind: SpanKind, dialect: str) -> None:
        self.kind: SpanKind = kind
        self.dialect = dialect
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

    __slots__ = ("_found", "_places", "_plan", "attributes", "dialect", "events", "kind", "name")

    def __init__(self, plan: Plan, name: str, attributes: Attributes, events: Events) -> None:
        self.kind: SpanKind = _kind(plan, name, attributes)
        self.dialect = plan.dialect
        self.name = name
        self.attributes = attributes
        self.events = events
        self._found: dict[Place, Any] = {}
        self._plan = plan
        self._places = plan.places(self.kind)

    def all(self, field: Field) -> Iterator[Any]:
        """All values recorded for the field, the most trusted first."""
        for place in self._places.get(field, ()):
            value = self._value(place)
            if value is not None and value != "":
                yield value

    def first(self, field: Field) -> Any:
        """The most trusted value recorded for the field, or None."""
        for place in self._places.get(field, ()):
            value = self._value(place)
            if value is not None and value != "":
                return value
        return None

    def fields(self) -> Fields:
        """The canonical fields that are kept beside the span."""
        fields = Fields(self.kind, self.dialect)
        attributes = self.attributes
        for field, form, places in self._plan.kept(self.kind):
            for place in places:
                value = attributes[place] if isinstance(place, str) else self._value(place)
                found = _content(value, fields) if form == "content" else _READ[form](value)
                if found is not None and found != "":
                    setattr(fields, field, found)
                    break
        if "cost_usd" in self._places or "cost_part" in self._places:
            fields.cost_usd = self._cost()
        if self.kind == "tool" and not fields.tool_name:
            fields.tool_name = name_part(self.name, "tool") or self.name
        elif self.kind == "agent" and not fields.agent_name:
            fields.agent_name = name_part(self.name, "agent")
        return fields

    def _value(self, place: Place) -> Any:
        """What stands at the place; what has to be put together is put together once."""
        if isinstance(place, str):
            return self.attributes[place]
        if place not in self._found:
            self._found[place] = place(self.attributes, self.events)
        return self._found[place]

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


def _provider(value: Any) -> str:
    name = to_name(value)
    return provider_name(name) if name else ""


_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "count": to_int,
    "name": to_name,
    "provider": _provider,
}


@lru_cache(maxsize=1024)
def provider_name(name: str) -> str:
    """The provider that the name means; "" for the name of a framework."""
    text = _API_SUFFIX.sub("", name.lower())
    return "" if text in _NOT_PROVIDERS else text


def read(
    *,
    scope_name: str,
    name: str,
    attributes: Attributes,
    events: Events = (),
) -> Reading:
    """The span under its plan."""
    keys = tuple(attributes)
    names = tuple([event[0] for event in events]) if events else ()
    key = (scope_name, keys, names)
    plan = _PLANS.get(key)
    if plan is None:
        plan = compile_plan(scope_name, keys, tuple(dict.fromkeys(names)))
        if len(keys) + len(names) <= MAX_CACHED_KEYS:
            if len(_PLANS) >= MAX_PLANS:
                _PLANS.clear()
            _PLANS[key] = plan
    return Reading(plan, name, attributes, events)


def resolve(
    *,
    scope_name: str,
    resource: Mapping[str, Any],
    name: str,
    attributes: Mapping[str, Any],
    events: Sequence[tuple[str, Mapping[str, Any]]],
    otel_kind: str = "unspecified",
) -> Fields:
    """The canonical fields of a span; never raises, whatever the attributes hold."""
    del resource, otel_kind
    return read(scope_name=scope_name, name=name, attributes=attributes, events=events).fields()


def _kind(plan: Plan, name: str, attributes: Attributes) -> SpanKind:
    kind: SpanKind | None = None
    for rule in plan.kind_rules:
        kind = _rule_kind(rule, attributes[rule.key])
        if kind is not None:
            break
    if kind is None:
        kind = _name_kind(name) or plan.shape if plan.shape in _WEAK else plan.shape
    if kind == "tool" or kind == "step":
        return _override(name) or kind
    return kind


_WEAK: Final = frozenset({"unknown", "workflow", "agent"})


def _rule_kind(rule: KindRule, value: Any) -> SpanKind | None:
    if not isinstance(value, str):
        return rule.always
    found = rule.values.get(value)
    if found is None and value:
        found = rule.values.get(value.strip('" ').lower())
    return found or (rule.always if value else None)


@lru_cache(maxsize=4096)
def _override(name: str) -> SpanKind | None:
    text = name[:MAX_NAME_CHARS]
    return next((r.kind for p, r in _NAMES if r.overrides and p.fullmatch(text)), None)


@lru_cache(maxsize=4096)
def _name_kind(name: str) -> SpanKind | None:
    text = name[:MAX_NAME_CHARS]
    return next((r.kind for p, r in _NAMES if p.fullmatch(text)), None)


@lru_cache(maxsize=4096)
def name_part(name: str, kind: SpanKind) -> str:
    """The part of a span name that names the tool or agent; "" if the name has another form."""
    text = name[:MAX_NAME_CHARS]
    for pattern, rule in _NAMES:
        if rule.kind == kind and (match := pattern.fullmatch(text)) and pattern.groups:
            return (match[1] or "").strip()
    return ""
