"""The parts of docs/dialects.md that are made from the tables of dialects and from their tests.

`python -m tests.helpers.dialect_docs` (or `make docs-dialects`) rewrites them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tests.helpers.dialect_evidence import FACTS, Evidence, gather_evidence
from tests.helpers.docs import DOCS
from tracejury.dialects import BUILT_IN
from tracejury.dialects.rules import (
    Added,
    Attr,
    CacheRule,
    Dialect,
    EventFlat,
    EventKey,
    EventMessages,
    Flat,
    Guard,
    Inside,
    KindRule,
    Prefixed,
    Rule,
    Source,
)

PAGE = DOCS / "dialects.md"
_GUARDS: Mapping[Guard, str] = {
    "": "",
    "quoted": "",
    "mime": "",
    "not_schema": "unless a JSON Schema",
    "json_value": "if JSON",
    "headed": "below its heading in brackets",
    "sole": "if the only member",
    "transcript": "if lines that begin with a role",
    "base64": "JSON sent as bytes",
}
_SIGNS = {"recorded": "●", "hand-made": "○"}


def with_generated(page: str, dialects: Sequence[Dialect], evidence: Evidence) -> str:
    """Return the page with its matrix and its tables brought up to date."""
    page = _between(page, "matrix", matrix(dialects, evidence))
    return _between(page, "dialects", "\n".join(map(section, dialects)))


def matrix(dialects: Iterable[Dialect], evidence: Evidence) -> str:
    """Return the table of frameworks and the facts that tests recover from their spans."""
    rows = [
        _row(
            f"[{label_of(d)}](#{anchor(label_of(d))})",
            *(_SIGNS.get(evidence.get((d.name, fact), ""), "") for fact in FACTS),
        )
        for d in sorted(dialects, key=lambda d: label_of(d).lower())
    ]
    return "\n".join([*_header("framework", *FACTS), *rows]) + "\n"


def section(dialect: Dialect) -> str:
    """Return what there is to say of one dialect."""
    parts = [
        f"### {label_of(dialect)}",
        _recognized(dialect),
        _fields_table(dialect.rules) or "No places of its own: it writes what other tables read.",
        _kinds_table(dialect),
        _remarks(dialect),
        _missing(dialect.missing),
        _enable(dialect.enable),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def label_of(dialect: Dialect) -> str:
    """Return the framework's name."""
    return dialect.label or dialect.name


def anchor(heading: str) -> str:
    """Return the anchor that a heading has on the page."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def place(source: Source) -> str:
    """Return where a rule looks, in words."""
    match source:
        case Attr(key):
            return f"`{key}`"
        case Inside(key, names):
            return f"`{key}` › " + " or ".join(f"`{name}`" for name in names)
        case Added(key, names):
            return f"`{key}` › sum of " + ", ".join(f"`{name}`" for name in names)
        case Flat(prefix):
            return f"`{prefix}.N…`"
        case Prefixed(prefix):
            return f"`{prefix}.*`"
        case EventKey(event, "*"):
            return f"events `{event}`"
        case EventKey(event, key):
            return f"event `{event}` › `{key}`"
        case EventFlat(event, prefix):
            return f"event `{event}` › `{prefix}.…`"
        case EventMessages(roles):
            return "events " + ", ".join(f"`{name}`" for name in roles)
        case _:
            keys = [key for _, keys in source.members for key in keys]
            return " with ".join(f"`{key}`" for key in keys)


def _between(page: str, name: str, text: str) -> str:
    pattern = re.compile(rf"(<!-- {name} -->\n).*(<!-- /{name} -->)", re.DOTALL)
    return pattern.sub(lambda match: match[1] + text + match[2], page)


# Dialects that no mark tells: of a framework without spans of its own, and of all the rest.
_UNMARKED = (
    "Its spans go under the dialect of the instrumentation that records them",
    "Recognized by nothing: it is what is left",
)


def _recognized(dialect: Dialect) -> str:
    """Return the marks of its spans, and what the table was read from."""
    marks = [
        _listed("scope", [f"{scope}*" for scope in dialect.scopes]),
        _listed("service name", [f"{service}*" for service in dialect.services]),
        _listed("`telemetry.sdk.name`", dialect.sdks),
        _listed("attributes", [f"{prefix}*" for prefix in dialect.prefixes]),
    ]
    found = "; ".join(mark for mark in marks if mark)
    how = f"Recognized by {found}" if found else _UNMARKED[dialect.name == "generic"]
    text = f"Name `{dialect.name}`. {how}."
    return f"{text} Read from {dialect.source.rstrip('.')}." if dialect.source else text


def _listed(noun: str, names: Sequence[str]) -> str:
    return f"{noun} " + ", ".join(f"`{name}`" for name in names) if names else ""


def _fields_table(rules: Iterable[Rule]) -> str:
    by_field: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        by_field[rule.field].append(rule)
    rows = [
        _row(f"`{field}`", "; ".join(dict.fromkeys(_places(found))))
        for field, found in by_field.items()
    ]
    return "\n".join([*_header("field", "where, the most trusted first"), *rows]) if rows else ""


def _places(rules: Iterable[Rule]) -> Iterable[str]:
    """Yield the places in order of trust; a flattened list names its bare key with it."""
    ordered = sorted(rules, key=lambda rule: rule.rank)
    lists = {rule.source.prefix for rule in ordered if isinstance(rule.source, Flat)}
    for rule in ordered:
        if isinstance(rule.source, Attr) and rule.source.key in lists:
            continue
        kinds = ", ".join(sorted(rule.kinds))
        notes = [note for note in (kinds, _GUARDS.get(rule.guard, rule.guard)) if note]
        yield place(rule.source) + (f" ({'; '.join(notes)})" if notes else "")


def _kinds_table(dialect: Dialect) -> str:
    found = [row for rule in dialect.kinds for row in _kind_rows(rule)]
    found += [(f"event `{event.event}`", event.kind) for event in dialect.event_kinds]
    found += [(f"span name `{name.pattern}`", name.kind) for name in dialect.names]
    return "\n".join([*_header("mark", "kind"), *(_row(*row) for row in found)]) if found else ""


def _kind_rows(rule: KindRule) -> Iterable[tuple[str, str]]:
    by_kind: dict[str, list[str]] = defaultdict(list)
    for value, kind in rule.values.items():
        by_kind[kind].append(value)
    for named, values in by_kind.items():
        yield f"`{rule.key}` = " + ", ".join(f"`{value}`" for value in values), named
    if rule.always is not None:
        yield f"`{rule.key}`, {'any other value' if rule.values else 'any value'}", rule.always


def _remarks(dialect: Dialect) -> str:
    """Return the list of what else the table says."""
    found = [f"- {_cache(rule)}" for rule in dialect.cache]
    found += [
        f"- `{r.event}` (event or log) stands for a span of kind {r.kind} where the trace has none."
        for r in dialect.records
    ]
    if dialect.answer_tools:
        found.append(f"- {_listed('The agent answers by calling', dialect.answer_tools)}.")
    if dialect.tool_names:
        found.append(f"- {_listed('Tools are named by the group of', dialect.tool_names)}.")
    if dialect.waits:
        found.append(f"- {_listed('Waiting for a person is no latency:', dialect.waits)}.")
    if dialect.running_totals:
        found.append("- An agent's totals go on from one run to the next.")
    if dialect.runs_apart:
        found.append("- Tools run in traces of their own: a call only asked for is no call here.")
    return "\n".join(found)


def _cache(rule: CacheRule) -> str:
    """Return one sentence on the basis of input tokens."""
    conditions = [
        _listed("of scope", [f"{scope}*" for scope in rule.scopes]),
        _listed("with", rule.present),
        _listed("without", rule.absent),
        _listed("for", [f"{name}*" for name in rule.providers]),
    ]
    spans = " ".join(["spans", *(text for text in conditions if text)])
    verb = "contain" if rule.basis == "inclusive" else "do not contain"
    return f"Input tokens of {spans} {verb} the cached ones." + (
        "" if rule.basis == "inclusive" else " They are added."
    )


def _missing(sentences: Sequence[str]) -> str:
    return "\n".join(
        ["Not recorded:", "", *(f"- {text}" for text in sentences)] if sentences else ()
    )


def _enable(lines: str) -> str:
    if not lines.strip():
        return ""
    return f"To record more:\n\n```text\n{lines.strip()}\n```"


def _header(*titles: str) -> list[str]:
    return [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(
        with_generated(PAGE.read_text("utf-8"), BUILT_IN, gather_evidence()), encoding="utf-8"
    )
