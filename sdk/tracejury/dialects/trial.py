"""What a dialect that a user brings finds in spans: rule by rule, and what stays unread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracejury.dialects.active import Tables, tables_with
from tracejury.dialects.custom import CustomDialect
from tracejury.dialects.custom_parts import SOURCES
from tracejury.dialects.decode import to_text
from tracejury.dialects.patterns import linear
from tracejury.dialects.resolve import Reading, rule_kind
from tracejury.dialects.rules import Rule
from tracejury.dialects.unread import excerpt
from tracejury.trace import SpanRecord

MAX_UNREAD_SHOWN = 200


@dataclass(slots=True, kw_only=True)
class Finding:
    """What one entry of the file found: `place` in the file, `reads` what it says in short.

    `hits` counts spans where something stood, `used` those where nothing of a lower rank did.
    """

    place: str
    reads: str
    hits: int = 0
    used: int = 0
    example: str = ""

    def hit(self, value: Any, *, used: bool = True) -> None:
        """Count one span."""
        self.hits += 1
        self.used += used
        self.example = self.example or excerpt(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """What looks like GenAI content in spans of the dialect, or of none, and is read by no rule."""

    scope: str
    key: str
    spans: int
    example: str


@dataclass(slots=True, kw_only=True)
class Trial:
    """What came of the spans: how many there were by dialect ("": none), and by the own's kinds."""

    spans: int = 0
    recognized: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    dialects: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)


def try_dialect(custom: CustomDialect, spans: Iterable[SpanRecord]) -> Trial:
    """Read the spans by the dialect and the built-in ones, and say what it found."""
    tables = tables_with([custom.dialect])
    watch = _Watch(custom)
    kinds: Counter[str] = Counter()
    dialects: Counter[str] = Counter()
    for span in spans:
        reading = _read(tables, span)
        dialects[reading.dialect] += 1
        if reading.dialect == custom.dialect.name:
            kinds[reading.kind] += 1
        if reading.dialect in ("", custom.dialect.name):
            tables.count_unread(reading.plan, span.attributes)
        watch.look(reading)
    return Trial(
        spans=dialects.total(),
        recognized=dialects[custom.dialect.name],
        kinds=dict(kinds.most_common()),
        dialects=dict(dialects.most_common()),
        findings=watch.findings(),
        unread=_unread(tables),
    )


def _read(tables: Tables, span: SpanRecord) -> Reading:
    events = [(event.name, event.attributes) for event in span.events]
    names = tuple(name for name, _ in events)
    plan = tables.plan(span.scope_name, span.resource, span.attributes, names)
    return Reading(tables, plan, span.name, span.attributes, events)


def _unread(tables: Tables) -> list[Unread]:
    found = [
        Unread(scope=scope, key=key, spans=spans, example=example)
        for scope, key, spans, example in tables.take_unread()
    ]
    return sorted(found, key=lambda row: (-row.spans, row.scope, row.key))[:MAX_UNREAD_SHOWN]


class _Watch:
    """Counts what each entry of the file finds."""

    def __init__(self, custom: CustomDialect) -> None:
        self._custom = custom
        dialect, data = custom.dialect, custom.data
        self._rules = [
            Finding(place=f"rules[{n}]", reads=_summary(entry))
            for n, entry in enumerate(data.get("rules", ()))
        ]
        self._kinds = [
            (rule, Finding(place=f"kinds[{n}]", reads=f"kind ← {rule.key}"))
            for n, rule in enumerate(dialect.kinds)
        ]
        events = [("event_kinds", n, e.event, e.kind) for n, e in enumerate(dialect.event_kinds)]
        events += [("records", n, e.event, e.kind) for n, e in enumerate(dialect.records)]
        self._events = [
            (event, Finding(place=f"{part}[{n}]", reads=f"{kind} ← event {event}"))
            for part, n, event, kind in events
        ]
        self._names = [
            (linear(rule.pattern), Finding(place=f"names[{n}]", reads=f"{rule.kind} ← name"))
            for n, rule in enumerate(dialect.names)
        ]

    def findings(self) -> list[Finding]:
        """What was found, in the order of the file's parts."""
        others = (*self._kinds, *self._events, *self._names)
        return [*(finding for _, finding in others), *self._rules]

    def look(self, reading: Reading) -> None:
        """Count what the entries find in one span."""
        for number, (value, used) in self._hits(reading).items():
            self._rules[number].hit(value, used=used)
        for rule, finding in self._kinds:
            value = reading.attributes.get(rule.key)
            if rule.key in reading.attributes and rule_kind(rule, value) is not None:
                finding.hit(value)
        events = dict(reading.events)
        for event, finding in self._events:
            if event in events:
                finding.hit(events[event])
        for pattern, finding in self._names:
            if pattern.fullmatch(reading.name):
                finding.hit(reading.name)

    def _hits(self, reading: Reading) -> dict[int, tuple[Any, bool]]:
        """What the rules found, by their number in the file, and whether it was what counts."""
        found: dict[int, tuple[Any, bool]] = {}
        for number, rule, place in self._own(reading):
            value = reading.value(place)
            if value is None or value == "":
                continue
            used = reading.winner(rule.field) == place
            before = found.get(number)
            found[number] = (before[0] if before else value, used or (before or (0, False))[1])
        return found

    def _own(self, reading: Reading) -> Iterator[tuple[int, Rule, Any]]:
        """The rules of the file that can hit this span; they are the first of all rules."""
        for _, order, rule, place in reading.plan.entries():
            if order < len(self._custom.numbers) and (not rule.kinds or reading.kind in rule.kinds):
                yield self._custom.numbers[order], rule, place


def _summary(entry: Mapping[str, Any]) -> str:
    """What an entry of the file says in short: `input ← attr acme.question (agent)`."""
    source = next((name for name in SOURCES if entry.get(name) is not None), "")
    beside = [entry[name] for name in ("names", "key", "prefix") if entry.get(name)]
    words = [source, *(_words(value) for value in (entry.get(source), *beside))]
    kinds = f" ({_words(entry['kinds'])})" if entry.get("kinds") else ""
    return f"{entry.get('field')} ← {' '.join(words)}{kinds}"


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return to_text(value)
