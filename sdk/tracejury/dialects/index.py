"""The rules of all dialects by what they look at."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tracejury.dialects.rules import (
    Added,
    Attr,
    CacheRule,
    Dialect,
    EventFlat,
    EventKey,
    EventKind,
    Flat,
    Inside,
    KindRule,
    Prefixed,
    Recorded,
    Rule,
    Together,
)

# The table of what spans of no known dialect share.
GENERIC_NAME = "generic"
INDEXED = re.compile(r"^(.+?)\.(\d{1,5}(?:\..*)?)$")


class Index:
    """The rules of all dialects by what they look at; `dialects` in order of recognition."""

    def __init__(self, dialects: Iterable[Dialect]) -> None:
        self.dialects = tuple(dialects)
        self.attributes: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        self.flat: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        self.prefixed: list[tuple[int, Rule, Prefixed, str]] = []
        self.together: list[tuple[int, Rule, Together]] = []
        self.events: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        self.kinds: dict[str, list[KindRule]] = defaultdict(list)
        self.event_kinds: dict[str, list[EventKind]] = defaultdict(list)
        self.cache: list[CacheRule] = []
        self.records: dict[str, Recorded] = {}
        self.owner: dict[int, str] = {}
        self._known = {d.name: d.known for d in self.dialects}
        self._known_anywhere = tuple(
            prefix
            for d in self.dialects
            for prefix in d.known
            if d.name == GENERIC_NAME or prefix.startswith(d.prefixes or (prefix + ".",))
        )
        self.runs_apart = frozenset(d.name for d in self.dialects if d.runs_apart)
        self.agent_sums = frozenset(d.name for d in self.dialects if d.agent_sums)
        for dialect in self.dialects:
            self._add_dialect(dialect)

    def _add_dialect(self, dialect: Dialect) -> None:
        for rule in dialect.rules:
            order = len(self.owner)
            self.owner[order] = dialect.name
            self._add(order, rule)
        for kind in dialect.kinds:
            self.kinds[kind.key].append(kind)
        for event_kind in dialect.event_kinds:
            self.event_kinds[event_kind.event].append(event_kind)
        self.cache.extend(dialect.cache)
        for recorded in dialect.records:
            self.records.setdefault(recorded.event, recorded)

    def _add(self, order: int, rule: Rule) -> None:
        source = rule.source
        if isinstance(source, Attr | Inside | Added):
            self.attributes[source.key].append((order, rule))
        elif isinstance(source, Flat):
            self.flat[source.prefix].append((order, rule))
        elif isinstance(source, Together):
            self.together.append((order, rule, source))
        elif isinstance(source, Prefixed):
            self.prefixed.append((order, rule, source, source.prefix + "."))
        elif isinstance(source, EventKey | EventFlat):
            self.events[source.event].append((order, rule))
        else:
            for name in source.roles:
                self.events[name].append((order, rule))

    def of_scope(self, scope: str) -> str:
        """The dialect of spans of this scope; "" if the scope names none."""
        if not scope:
            return ""
        found = (d.name for d in self.dialects if d.scopes and scope.startswith(d.scopes))
        return next(found, "")

    def is_known(self, name: str, dialect: str) -> bool:
        """Whether an attribute or event is known to hold nothing, on spans of a dialect.

        What begins as the attributes of a dialect do is known on any span, and what the general
        table names; other words may mean something else to another framework.
        """
        return name.startswith((*self._known_anywhere, *self._known.get(dialect, ())))

    def is_read(self, key: str) -> bool:
        """Whether some rule of some dialect reads this attribute."""
        match = INDEXED.match(key)
        return (
            key in self.attributes
            or key in self.kinds
            or (match is not None and match[1] in self.flat)
            or any(key.startswith(prefix) for _, _, _, prefix in self.prefixed)
            or any(key in keys for _, _, t in self.together for _, keys in t.members)
        )
