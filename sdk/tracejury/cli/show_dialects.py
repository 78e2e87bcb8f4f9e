"""How the command line shows dialects and what none of them reads."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tracejury import terminal
from tracejury.dialect_doctor import DialectCheck
from tracejury.dialects.trial import Trial
from tracejury.rest import DialectReport
from tracejury.terminal import Justify, age, one_line, visible

_SHORT_CELL = 8


def print_dialects(report: DialectReport, *, every: bool) -> None:
    """Print the dialects that were seen, or all, and what none of them reads."""
    out = terminal.console()
    shown = [d for d in report.dialects if every or d.spans or d.origin == "file"]
    rows = [
        (d.name, d.label, d.spans, age(d.last_seen), visible(d.file) if d.file else "built in")
        for d in shown
    ]
    if report.spans_without_dialect:
        rows.append(("-", "no dialect", report.spans_without_dialect, "-", ""))
    if rows:
        columns: list[tuple[str, Justify]] = [
            ("dialect", "left"), ("framework", "left"), ("spans", "right"), ("last", "right"),
            ("from", "left"),
        ]  # fmt: skip
        out.print(
            terminal.fit(out, terminal.table("", columns, rows), {1: _SHORT_CELL, 4: _SHORT_CELL})
        )
    else:
        out.print("no spans yet; --all lists the dialects that are known")
    unread = [(u.scope, u.key, u.kind, u.spans, age(u.last_seen), u.example) for u in report.unread]
    _print_unread(out, unread, report.unread_count, "")


def _print_unread(
    out: Console, rows: Sequence[tuple[str, str, str, int, str, str]], count: int, where: str
) -> None:
    out.print()
    if not rows:
        out.print(Text(f"every attribute{where} that looks like GenAI content is read"))
        return
    said = f"{count}{where} that look like GenAI content and that no rule reads"
    out.print(Text(said, style="bold"))
    for scope, key, kind, spans, last, example in rows:
        seen = f"{spans} {'span' if spans == 1 else 'spans'}" + (
            f", last {last} ago" if last else ""
        )
        what = key if kind == "attribute" else f"{kind} {key}"
        head = Text.assemble(
            (one_line(what), "yellow"), f"  {one_line(scope) or '-'}  ", (seen, "dim")
        )
        out.print(head, soft_wrap=True)
        if example:
            out.print(Text(f"    {one_line(example, 100)}", style="dim"), soft_wrap=True)
    if count > len(rows):
        out.print(Text(f"{count - len(rows)} more: raise --limit", style="dim"))


def print_dialect_check(check: DialectCheck) -> None:
    """Print what a dialect of one's own finds, entry by entry."""
    out = terminal.console()
    dialect = check.custom.dialect
    instead = ", in place of the built-in one" if check.replaces else ""
    line = f"{check.custom.file}: valid; dialect {dialect.name!r} ({dialect.label}){instead}"
    out.print(Text(one_line(line)), soft_wrap=True)
    if check.trial is not None:
        _print_trial(out, check.trial, dialect.name, check.source)


def _print_trial(out: Console, trial: Trial, name: str, source: str) -> None:
    spans = f"{trial.recognized} of {trial.spans} spans follow it, in {source}"
    out.print(Text(one_line(spans)), soft_wrap=True)
    others = [f"{n or 'no dialect'} {count}" for n, count in trial.dialects.items() if n != name]
    if others:
        out.print(Text(one_line(f"the others: {', '.join(others)}"), style="dim"), soft_wrap=True)
    if trial.kinds:
        kinds = ", ".join(f"{kind} {count}" for kind, count in trial.kinds.items())
        out.print(Text(f"kinds: {kinds}"), soft_wrap=True)
    if not trial.spans:
        return
    out.print()
    columns: list[tuple[str, Justify]] = [
        ("entry", "left"), ("reads", "left"), ("hits", "right"), ("used", "right"),
        ("example", "left"),
    ]  # fmt: skip
    rows = [(f.place, f.reads, f.hits, f.used, f.example) for f in trial.findings if f.hits]
    if rows:
        out.print(
            terminal.fit(out, terminal.table("", columns, rows), {1: _SHORT_CELL, 4: _SHORT_CELL})
        )
    never = [finding for finding in trial.findings if not finding.hits]
    if never:
        out.print()
        out.print(Text("never hit:", style="bold"))
        for finding in never:
            out.print(Text(f"  {finding.place}: {one_line(finding.reads)}"), soft_wrap=True)
    unread = [(u.scope, u.key, "attribute", u.spans, "", u.example) for u in trial.unread]
    _print_unread(out, unread, len(unread), f" in spans of {name!r} or of no dialect")
