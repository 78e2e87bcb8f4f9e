"""Dialects that users bring: data of the shape of `rules.py`, checked and made into a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import (
    ValidationError,
)

from tracejury.dialects import rules
from tracejury.dialects.custom_parts import (
    REMEDY,
    CachePart,
    DialectPart,
    EventKindPart,
    KindPart,
    NamePart,
    Part,
    RecordPart,
    RulePart,
    nearest,
)
from tracejury.errors import DefinitionError


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


PARTS: Final[Mapping[str, type[Part]]] = {
    "kinds": KindPart,
    "event_kinds": EventKindPart,
    "names": NamePart,
    "rules": RulePart,
    "cache": CachePart,
    "records": RecordPart,
}


def _explain(item: Any, file: str, lines: Mapping[tuple[str | int, ...], int]) -> str:
    location = tuple(part for part in item["loc"] if part != "[key]")
    if item["type"] == "extra_forbidden" and item["loc"][-1] == "[key]":  # so it is called
        location = (*location, "[key]")
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
