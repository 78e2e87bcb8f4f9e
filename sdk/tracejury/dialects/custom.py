"""Dialects that users bring: data of the shape of `rules.py`, checked and made into a table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

import pydantic
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    model_validator,
)

from tracejury.dialects import rules
from tracejury.dialects.patterns import linear
from tracejury.errors import DefinitionError
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


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, str_min_length=1, str_max_length=MAX_CHARS
    )


class _KindPart(_Part):
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


class _EventKindPart(_Part):
    event: str
    kind: SpanKind
    rank: KindRank = FIRST_KIND

    def build(self) -> rules.EventKind:
        return rules.EventKind(self.event, self.kind, self.rank)


class _NamePart(_Part):
    pattern: Annotated[str, AfterValidator(_pattern)]
    kind: SpanKind
    overrides: bool = False

    def build(self) -> rules.NameRule:
        return rules.NameRule(self.pattern, self.kind, self.overrides)


class _CachePart(_Part):
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


class _RecordPart(_Part):
    event: str
    kind: SpanKind
    duration_ms: str = ""
    joins: str = ""

    def build(self) -> rules.Recorded:
        return rules.Recorded(
            event=self.event, kind=self.kind, duration_ms=self.duration_ms, joins=self.joins
        )


class _RulePart(_Part):
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


class DialectPart(_Part):
    name: Annotated[str, pydantic.Field(pattern=r"^[a-z][a-z0-9_\-]{0,39}$")]
    label: str = ""
    source: Text = ""
    scopes: Words = []
    prefixes: Words = []
    services: Words = []
    sdks: Words = []
    kinds: Annotated[list[_KindPart], pydantic.Field(max_length=MAX_ITEMS)] = []
    event_kinds: Annotated[list[_EventKindPart], pydantic.Field(max_length=MAX_ITEMS)] = []
    names: Annotated[list[_NamePart], pydantic.Field(max_length=MAX_ITEMS)] = []
    rules: Annotated[list[_RulePart], pydantic.Field(max_length=MAX_RULES)] = []
    cache: Annotated[list[_CachePart], pydantic.Field(max_length=MAX_ITEMS)] = []
    records: Annotated[list[_RecordPart], pydantic.Field(max_length=MAX_ITEMS)] = []
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomDialect:
    """A user's table, and where it comes from.

    `numbers` holds, for each rule of the table, the position in the file's `rules` of the entry
    that it was made from; `data` is what was read.
    """

    dialect: rules.Dialect
    numbers: tuple[int, ...]
    data: Mapping[str, Any]
    file: str = ""


def parse_dialect(
    data: Any, file: str = "", lines: Mapping[tuple[str | int, ...], int] | None = None
) -> CustomDialect:
    """The table that the data describe; `lines` says where each part stands in the file.

    Raises: DefinitionError naming the file, each place in it, and the remedy.
    """
    if not isinstance(data, dict):
        raise DefinitionError(
            f"{file or 'dialect'}: expected a mapping with name and rules, "
            f"found {type(data).__name__}; {REMEDY}"
        )
    try:
        part = DialectPart.model_validate(data)
    except ValidationError as error:
        found = [_explain(item, file, lines or {}) for item in error.errors()]
        raise DefinitionError("\n".join(found)) from error
    built = [rule.build() for rule in part.rules]
    return CustomDialect(
        dialect=_table(part, [rule for group in built for rule in group]),
        numbers=tuple(n for n, group in enumerate(built) for _ in group),
        data=data,
        file=file,
    )


def refuse_duplicates(found: Sequence[CustomDialect]) -> None:
    """Check that no two files bring a dialect of the same name.

    Raises: DefinitionError naming both files.
    """
    seen: dict[str, CustomDialect] = {}
    for custom in found:
        name = custom.dialect.name
        if name in seen:
            raise DefinitionError(
                f"{custom.file}: name: {seen[name].file} brings a dialect named {name!r} too; "
                "rename one of them"
            )
        seen[name] = custom


def _table(part: DialectPart, found: list[rules.Rule]) -> rules.Dialect:
    return rules.Dialect(
        name=part.name,
        label=part.label or part.name,
        source=part.source,
        scopes=tuple(part.scopes),
        prefixes=tuple(part.prefixes),
        services=tuple(part.services),
        sdks=tuple(part.sdks),
        kinds=tuple(kind.build() for kind in part.kinds),
        event_kinds=tuple(kind.build() for kind in part.event_kinds),
        names=tuple(name.build() for name in part.names),
        rules=tuple(found),
        cache=tuple(rule.build() for rule in part.cache),
        records=tuple(record.build() for record in part.records),
        answer_tools=tuple(part.answer_tools),
        tool_names=tuple(part.tool_names),
        not_providers=tuple(name.lower() for name in part.not_providers),
        waits=tuple(part.waits),
        running_totals=part.running_totals,
        runs_apart=part.runs_apart,
        agent_sums=part.agent_sums,
        known=tuple(part.known),
        missing=tuple(part.missing),
        enable=part.enable,
    )


PARTS: Final[Mapping[str, type[_Part]]] = {
    "kinds": _KindPart,
    "event_kinds": _EventKindPart,
    "names": _NamePart,
    "rules": _RulePart,
    "cache": _CachePart,
    "records": _RecordPart,
}


def _explain(item: Any, file: str, lines: Mapping[tuple[str | int, ...], int]) -> str:
    location = tuple(part for part in item["loc"] if part != "[key]")
    line = next((lines[p] for p in _prefixes(location) if p in lines), None)
    where = f"{file}, line {line}" if line else file
    path = _path(location)
    head = ": ".join(part for part in (where, path) if part)
    return f"{head}: {_what(item, location)}"


def _what(item: Any, location: tuple[str | int, ...]) -> str:
    if item["type"] == "extra_forbidden":
        part = PARTS.get(str(location[0]), DialectPart) if len(location) > 2 else DialectPart
        word = str(location[-1])
        return f"unknown key {_shown(word)}{nearest(word, part.model_fields)}"
    if item["type"] == "literal_error":
        known = re.findall(r"'([^']*)'", item["ctx"]["expected"])
        return f"{_shown(item['input'])} is not known here{nearest(str(item['input']), known)}"
    if item["type"] == "missing":
        return f"it is missing; {REMEDY}"
    if item["type"] == "model_type":
        return f"expected a mapping of keys, found {_shown(item['input'])}; {REMEDY}"
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "value_error":
        return message
    return f"{message} (got {_shown(item['input'])}); {REMEDY}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _prefixes(location: tuple[str | int, ...]) -> Iterable[tuple[str | int, ...]]:
    return (location[:n] for n in range(len(location), -1, -1))


def _path(location: tuple[str | int, ...]) -> str:
    """The place as it would be written in a program: `rules[3].attr[0]`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that is meant."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(names))}"
