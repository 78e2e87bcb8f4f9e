"""The parts of a dialect's file: the words of `rules.py` as data, each checked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Self

import pydantic
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    model_validator,
)

from tracejury.dialects import rules
from tracejury.dialects.patterns import linear
from tracejury.trace import SpanKind

MAX_RULES = 500
MAX_ITEMS = 100
MAX_CHARS = 300
MAX_TEXT_CHARS = 4_000
REMEDY = "docs/custom-dialects.md describes the file"
# What every other table yields to, and recognition falls back to: it has to be the last.
RESERVED: Final = frozenset({"generic"})
_RANKS: Final[Mapping[str, int]] = {
    "vendor": rules.VENDOR,
    "current": rules.CURRENT,
    "event": rules.EVENT,
    "legacy": rules.LEGACY,
    "generic": rules.GENERIC,
}
_KIND_RANKS: Final[Mapping[str, int]] = {
    "explicit": rules.EXPLICIT,
    "operation": rules.OPERATION,
    "mark": rules.MARK,
}
# A kind that a user's table tells comes before what any other table says.
FIRST_KIND: Final = 0
# What stands beside which source.
_COMPANIONS: Final = {"inside": "names", "added": "names", "event": "key", "event_flat": "prefix"}
# What may stand beside which source.
_OPTIONS: Final = {"role": ("together",), "guard": ("attr", "inside", "event")}
SOURCES: Final = (
    *("attr", "inside", "added", "flat", "prefixed", "together"),
    *("event", "event_flat", "messages"),
)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _named_rank(ranks: Mapping[str, int]) -> Callable[[Any], Any]:
    def number(value: Any) -> Any:
        if not isinstance(value, str) or value.isdecimal():
            return value
        if value not in ranks:
            hint = nearest(value, ranks)
            raise ValueError(f"{value!r} is no rank{hint}")
        return ranks[value]

    return number


def _pattern(value: str) -> str:
    linear(value)
    return value


def _pattern_with_group(value: str) -> str:
    if not linear(value).groups:
        raise ValueError(f"{value!r} has no group; put the tool's own name in parentheses")
    return value


Words = Annotated[
    list[str], BeforeValidator(_listed), pydantic.Field(min_length=1, max_length=MAX_ITEMS)
]
Patterns = Annotated[
    list[Annotated[str, AfterValidator(_pattern)]],
    BeforeValidator(_listed),
    pydantic.Field(max_length=MAX_ITEMS),
]
NamePatterns = Annotated[
    list[Annotated[str, AfterValidator(_pattern_with_group)]],
    BeforeValidator(_listed),
    pydantic.Field(max_length=MAX_ITEMS),
]
Kinds = Annotated[list[SpanKind], BeforeValidator(_listed)]
Rank = Annotated[int, BeforeValidator(_named_rank(_RANKS)), pydantic.Field(ge=1, le=999)]
KindRank = Annotated[int, BeforeValidator(_named_rank(_KIND_RANKS)), pydantic.Field(ge=0, le=99)]
Text = Annotated[str, pydantic.Field(max_length=MAX_TEXT_CHARS)]


class Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, str_min_length=1, str_max_length=MAX_CHARS
    )


class KindPart(Part):
    key: str
    values: dict[str, SpanKind] = {}
    always: SpanKind | None = None
    rank: KindRank = FIRST_KIND
    member: str = ""
    endings: dict[str, SpanKind] = {}

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.values and not self.endings and self.always is None:
            raise ValueError("it tells no kind; add values: {VALUE: KIND}, or always: KIND")
        return self

    def build(self) -> rules.KindRule:
        return rules.KindRule(
            self.key,
            self.rank,
            dict(self.values),
            self.always,
            self.member,
            dict(self.endings),
        )


class EventKindPart(Part):
    event: str
    kind: SpanKind
    rank: KindRank = FIRST_KIND

    def build(self) -> rules.EventKind:
        return rules.EventKind(self.event, self.kind, self.rank)


class NamePart(Part):
    pattern: Annotated[str, AfterValidator(_pattern)]
    kind: SpanKind
    overrides: bool = False

    def build(self) -> rules.NameRule:
        return rules.NameRule(self.pattern, self.kind, self.overrides)


class CachePart(Part):
    basis: Literal["inclusive", "exclusive"]
    scopes: Words = []
    present: Words = []
    absent: Words = []
    providers: Words = []

    def build(self) -> rules.CacheRule:
        return rules.CacheRule(
            basis=self.basis,
            scopes=tuple(self.scopes),
            present=tuple(self.present),
            absent=tuple(self.absent),
            providers=tuple(self.providers),
        )


class RecordPart(Part):
    event: str
    kind: SpanKind
    duration_ms: str = ""
    joins: str = ""

    def build(self) -> rules.Recorded:
        return rules.Recorded(
            event=self.event, kind=self.kind, duration_ms=self.duration_ms, joins=self.joins
        )


class RulePart(Part):
    field: rules.Field
    attr: Words | None = None
    inside: str | None = None
    added: str | None = None
    names: Words | None = None
    flat: str | None = None
    prefixed: str | None = None
    together: Annotated[dict[str, Words], pydantic.Field(min_length=1, max_length=30)] | None = None
    event: str | None = None
    key: str | None = None
    event_flat: str | None = None
    prefix: str | None = None
    messages: Annotated[dict[str, str], pydantic.Field(min_length=1, max_length=30)] | None = None
    kinds: Kinds = []
    role: Literal["assistant", "user", "system", "tool", "none"] | None = None
    guard: rules.Guard = ""
    rank: Rank = rules.VENDOR

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none"
            raise ValueError(
                f"a rule names one place to read, this one {found}; one of {', '.join(SOURCES)}"
            )
        wanted = _COMPANIONS.get(given[0])
        if wanted and getattr(self, wanted) is None:
            raise ValueError(f"{given[0]} needs {wanted} beside it; add {wanted}")
        for name in sorted({*_COMPANIONS.values()} - {wanted}):
            if getattr(self, name) is not None:
                with_ = " or ".join(s for s, c in _COMPANIONS.items() if c == name)
                raise ValueError(f"{name} stands beside {with_}, not beside {given[0]}; remove it")
        for option, sources in _OPTIONS.items():
            if getattr(self, option) and given[0] not in sources:
                fit = " or ".join(sources)
                raise ValueError(f"{option} stands beside {fit}, not {given[0]}; remove it")
        return self

    def build(self) -> list[rules.Rule]:
        """The rules that it stands for: one for each key, and for a flat list that as JSON."""
        chosen = frozenset[str](self.kinds)
        if self.attr:
            return [
                rules.Rule(self.field, rules.Attr(key), self.rank + i, chosen, self.guard)
                for i, key in enumerate(self.attr)
            ]
        if self.flat:
            return rules.flat(self.field, self.rank, self.flat, " ".join(self.kinds))
        return [rules.Rule(self.field, self._source(), self.rank, chosen, self.guard)]

    def _source(self) -> rules.Source:
        names = tuple(self.names or ())
        if self.inside:
            return rules.Inside(self.inside, names)
        if self.added:
            return rules.Added(self.added, names)
        if self.prefixed:
            return rules.Prefixed(self.prefixed.removesuffix("."))
        if self.together:
            members = tuple((name, tuple(keys)) for name, keys in self.together.items())
            return rules.Together(members, "" if self.role == "none" else self.role or "assistant")
        if self.event:
            return rules.EventKey(self.event, self.key or "")
        if self.event_flat:
            return rules.EventFlat(self.event_flat, self.prefix or "")
        return rules.EventMessages(dict(self.messages or {}))


class DialectPart(Part):
    name: Annotated[str, pydantic.Field(pattern=r"^[a-z][a-z0-9_\-]{0,39}$")]
    label: str = ""
    source: Text = ""
    scopes: Words = []
    prefixes: Words = []
    services: Words = []
    sdks: Words = []
    kinds: Annotated[list[KindPart], pydantic.Field(max_length=MAX_ITEMS)] = []
    event_kinds: Annotated[list[EventKindPart], pydantic.Field(max_length=MAX_ITEMS)] = []
    names: Annotated[list[NamePart], pydantic.Field(max_length=MAX_ITEMS)] = []
    rules: Annotated[list[RulePart], pydantic.Field(max_length=MAX_RULES)] = []
    cache: Annotated[list[CachePart], pydantic.Field(max_length=MAX_ITEMS)] = []
    records: Annotated[list[RecordPart], pydantic.Field(max_length=MAX_ITEMS)] = []
    answer_tools: Patterns = []
    tool_names: NamePatterns = []
    not_providers: Words = []
    waits: Patterns = []
    running_totals: bool = False
    runs_apart: bool = False
    agent_sums: bool = False
    known: Words = []
    missing: Annotated[list[Text], BeforeValidator(_listed)] = []
    enable: Text = ""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        if self.name in RESERVED:
            raise ValueError(f"the name {self.name!r} cannot be taken; choose another")
        if not (self.scopes or self.prefixes or self.services or self.sdks):
            raise ValueError(
                "nothing says which spans are of this dialect; "
                "add scopes, prefixes, services or sdks"
            )
        return self


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that is meant."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(names))}"
