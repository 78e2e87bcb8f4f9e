"""The dialects in force: the built-in tables, and those that a user adds."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, TypeVar, cast

from tracejury.dialects.index import Index
from tracejury.dialects.patterns import Pattern, linear, trusted
from tracejury.dialects.plan import Plan, compile_plan
from tracejury.dialects.rules import Dialect
from tracejury.dialects.tables import BUILT_IN
from tracejury.dialects.unread import EVENT, OTHER, excerpt, is_unread_event, label
from tracejury.trace import SpanKind

MAX_PLANS = 2048
MAX_CACHED_KEYS = 512
MAX_NAME_CHARS = 512
MAX_UNREAD = 1000
_API_SUFFIX = re.compile(r"\.(?:chat|responses|messages|completions?)$")


T = TypeVar("T")


def _remembered(size: int, function: Callable[..., T]) -> Callable[..., T]:
    """The function of texts with a cache; of long texts, which would fill it, only the start."""
    cached = cast("Callable[..., T]", lru_cache(maxsize=size)(function))

    def call(text: str, *others: str) -> T:
        if len(text) > MAX_NAME_CHARS:
            text = text[:MAX_NAME_CHARS]
        if not others:
            return cached(text)
        return cached(text, *[t[:MAX_NAME_CHARS] for t in others])

    return call


class Tables:
    """Dialects in order of recognition, made ready to read spans with."""

    def __init__(self, dialects: Iterable[Dialect]) -> None:
        self.index = Index(dialects)
        self._unread: dict[tuple[str, str], Unread] = {}
        self._counting = threading.Lock()
        self._plans: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], Plan] = {}
        self._names = tuple((_compiled(d, r.pattern), r) for d in self.dialects for r in d.names)
        self._not_providers = frozenset(n for d in self.dialects for n in d.not_providers)
        self._waits = tuple(_compiled(d, p) for d in self.dialects for p in d.waits)
        self._tool_names = {
            d.name: [_compiled(d, p) for p in d.tool_names] for d in self.dialects if d.tool_names
        }
        self._answers = {d.name: [_compiled(d, p) for p in d.answer_tools] for d in self.dialects}
        self.running_totals = frozenset(d.name for d in self.dialects if d.running_totals)
        self.name_kind = _remembered(4096, self._name_kind)
        self.override = _remembered(4096, self._override)
        self.name_part = _remembered(4096, self._name_part)
        self.is_wait = _remembered(4096, self._is_wait)
        self.provider_name = _remembered(1024, self._provider_name)
        self._is_unread_event = _remembered(1024, partial(is_unread_event, self.index))
        self._mark = _remembered(1024, self._find_mark)

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The dialects, in order of recognition."""
        return self.index.dialects

    def plan(
        self,
        scope: str,
        resource: Mapping[str, Any],
        attributes: Mapping[str, Any],
        names: tuple[str, ...],
    ) -> Plan:
        """The plan for spans like this one; compiled once for each set of keys."""
        mark = self.mark(resource) if resource else ""
        key = (scope, mark, tuple(attributes), names)
        plan = self._plans.get(key)
        if plan is None:
            plan = compile_plan(self.index, scope, mark, attributes, tuple(dict.fromkeys(names)))
            if len(attributes) + len(names) <= MAX_CACHED_KEYS:
                if len(self._plans) >= MAX_PLANS:
                    self._plans.clear()
                self._plans[key] = plan
        return plan

    def answer_tools(self, dialects: Iterable[str]) -> list[Pattern]:
        """Patterns of tool names by which agents of these dialects give their answer."""
        present = set(dialects)
        return [p for name, found in self._answers.items() if name in present for p in found]

    def own_tool_name(self, dialect: str, name: str) -> str:
        """The tool's own name, without what the dialect's framework puts around it."""
        for pattern in self._tool_names.get(dialect, ()):
            match = pattern.fullmatch(name[:MAX_NAME_CHARS])
            if match is not None and match.lastindex:
                return str(match[match.lastindex])
        return name

    def mark(self, resource: Mapping[str, Any]) -> str:
        """The dialect that the resource names; "" if it names none."""
        service, sdk = resource.get("service.name"), resource.get("telemetry.sdk.name")
        return self._mark(
            service if isinstance(service, str) else "", sdk if isinstance(sdk, str) else ""
        )

    def count_unread(self, plan: Plan, attributes: Mapping[str, Any]) -> None:
        """Count a span's attributes that look like GenAI content and that no rule reads."""
        with self._counting:
            for place, key in plan.unread_places:
                known = self._unread.get(place)
                if known is None:
                    known = self._first_unread(place, attributes.get(key, ""))
                known.count += 1

    def count_event(self, scope: str, name: str, content: Any) -> None:
        """Count a log record whose event looks like GenAI content, if no rule reads such events."""
        if name and self._is_unread_event(self.index.of_scope(scope), name):
            place = (label(scope), label(EVENT + name))
            with self._counting:
                known = self._unread.get(place) or self._first_unread(place, content)
                known.count += 1

    def take_unread(self) -> list[tuple[str, str, int, str]]:
        """Scope, key, number of spans and an example of each since the last call.

        What came after `MAX_UNREAD` others stands together under the scope and key `OTHER`.
        """
        with self._counting:
            taken, self._unread = self._unread, {}
        return [(scope, key, u.count, u.example) for (scope, key), u in taken.items()]

    def _first_unread(self, place: tuple[str, str], content: Any) -> Unread:
        if len(self._unread) >= MAX_UNREAD:
            return self._unread.setdefault((OTHER, OTHER), Unread(""))
        found = self._unread[place] = Unread(excerpt(content))
        return found

    def _find_mark(self, service: str, sdk: str) -> str:
        for dialect in self.dialects:
            if (dialect.services and service.startswith(dialect.services)) or sdk in dialect.sdks:
                return dialect.name
        return ""

    def _provider_name(self, name: str) -> str:
        """The provider that the name means; "" for the name of a framework."""
        text = _API_SUFFIX.sub("", name.lower())
        return "" if text in self._not_providers else text

    def _override(self, name: str) -> SpanKind | None:
        return self._first_kind(name, overrides=True)

    def _name_kind(self, name: str) -> SpanKind | None:
        return self._first_kind(name, overrides=False)

    def _first_kind(self, name: str, *, overrides: bool) -> SpanKind | None:
        text = name[:MAX_NAME_CHARS]
        found = (r for p, r in self._names if r.overrides >= overrides and p.fullmatch(text))
        return next((rule.kind for rule in found), None)

    def _name_part(self, name: str, kind: SpanKind) -> str:
        """The part of a span name that names the tool or agent; "" if it has another form."""
        text = name[:MAX_NAME_CHARS]
        for pattern, rule in self._names:
            if rule.kind == kind and pattern.groups and (match := pattern.fullmatch(text)):
                return (match[1] or "").strip()
        return ""

    def _is_wait(self, name: str) -> bool:
        """Whether spans of this name wait for a person."""
        return any(pattern.fullmatch(name[:MAX_NAME_CHARS]) for pattern in self._waits)


class Unread:
    """How often an attribute was seen that no rule reads, and what stood in it."""

    __slots__ = ("count", "example")

    def __init__(self, example: str) -> None:
        self.count = 0
        self.example = example


def _compiled(dialect: Dialect, pattern: str) -> Pattern:
    built_in = any(dialect is known for known in BUILT_IN)
    return trusted(pattern) if built_in else linear(pattern)


_IN_FORCE: Final = [Tables(BUILT_IN)]


def active() -> Tables:
    """The dialects in force in this process."""
    return _IN_FORCE[0]


def use_dialects(added: Iterable[Dialect] = ()) -> Tables:
    """Put dialects in force before the built-in ones; without any, only those.

    Holds for the process. A name that a built-in table has replaces that table. Patterns of what
    is added are matched by RE2.

    Raises: ValueError for a pattern that RE2 does not take.
    """
    _IN_FORCE[0] = tables_with(added)
    return _IN_FORCE[0]


def tables_with(added: Iterable[Dialect]) -> Tables:
    """The tables as `use_dialects` puts them in force, for trying them.

    Raises: ValueError for a pattern that RE2 does not take.
    """
    own = tuple(added)
    names = {dialect.name for dialect in own}
    return Tables((*own, *(d for d in BUILT_IN if d.name not in names)))
