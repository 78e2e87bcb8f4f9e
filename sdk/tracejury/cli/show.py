"""How the command line shows the documents of the API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Console
from rich.text import Text

from tracejury import terminal
from tracejury.doctor import Check
from tracejury.rest import (
    Imported,
    Page,
    SessionDetail,
    SessionSummary,
    SqlResult,
    TraceSummary,
)
from tracejury.terminal import Justify, age, latency, money, one_line, show, visible

Item = TypeVar("Item")
_SHORT_CELL = 8
SESSION_ID_WIDTH = 36
_MARKS = {
    "ok": ("ok", "green"),
    "warning": ("warn", "yellow"),
    "failed": ("FAIL", "red"),
    "skipped": ("skip", "dim"),
}


def print_traces(page: Page[TraceSummary]) -> None:
    """Print one page of traces."""
    out = terminal.console()
    if not page.items:
        out.print("no traces")
        return
    _print_items(out, _TRACE_COLUMNS, page.items)
    _print_more(out, page.next_cursor)


def print_event(trace: TraceSummary) -> None:
    """Print a trace in one line, as it is told of while it is followed."""
    parts = [trace.trace_id, _state(trace), _name(trace), latency(trace.latency_ms)]
    terminal.console().print(Text("  ".join(map(str, parts))), soft_wrap=True)


def print_sessions(page: Page[SessionSummary]) -> None:
    """Print one page of sessions."""
    out = terminal.console()
    if not page.items:
        out.print("no sessions")
        return
    _print_items(out, _SESSION_COLUMNS, page.items)
    _print_more(out, page.next_cursor)


def print_session(session: SessionDetail) -> None:
    """Print the totals of a session, then what was asked and answered in each of its traces."""
    out = terminal.console()
    for line in _session_lines(session):
        out.print(Text(line), soft_wrap=True)
    if session.truncated:
        earlier = session.trace_count - len(session.traces)
        hint = "raise --limit (to 1000), or list all with 'tracejury traces --session'"
        out.print(Text(f"{earlier} earlier not shown: {hint}", style="dim"), soft_wrap=True)
    out.print()
    _print_items(out, _SESSION_TRACE_COLUMNS, session.traces)


def _session_lines(session: SessionDetail) -> Iterator[str]:
    yield f"session {one_line(session.session_id)}"
    parts = {
        "project": [session.project],
        "service": session.service_names,
        "agent": session.agent_names,
        "user": session.user_ids,
        "model": session.models,
        "also in": session.other_projects,
    }
    for name, values in parts.items():
        if values:
            yield f"  {name:8} {one_line(', '.join(values), 200)}"
    failed = f", {session.traces_with_error} with an error" if session.traces_with_error else ""
    others = session.trace_count - session.runs
    beside = f", {others} other {_plural(others, 'trace')}" if others else ""
    yield f"  {'runs':8} {session.runs}{failed}{beside}"
    yield f"  {'calls':8} {session.llm_calls} of models, {session.tool_calls} of tools"
    yield f"  {'tokens':8} {show(session.total_tokens)}"
    yield f"  {'cost':8} {money(session.cost_usd)}"
    yield f"  {'lasted':8} {latency(session.duration_ms)}, began {age(session.start_time)} ago"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _print_items(out: Console, columns: Sequence[_Column[Item]], items: Sequence[Item]) -> None:
    """Print items as a table, whose columns of texts give way where the terminal is narrow."""
    shown = [column for column in columns if column.min_width <= out.width]
    rows = ([column.cell(item) for column in shown] for item in items)
    table = terminal.table("", [(column.name, column.justify) for column in shown], rows)
    flexible = {n: column.cut_to for n, column in enumerate(shown) if column.cut_to}
    out.print(terminal.fit(out, table, flexible))


def _print_more(out: Console, next_cursor: str | None) -> None:
    if next_cursor:
        out.print(Text(f"more: --cursor {visible(next_cursor)}", style="dim"), soft_wrap=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column(Generic[Item]):
    """A column of a list, shown in terminals of at least `min_width`.

    Where the others leave too little room it is cut to `cut_to` cells; 0: never.
    """

    name: str
    cell: Callable[[Item], Text | str]
    justify: Justify = "left"
    min_width: int = 0
    cut_to: int = 0


def _name(item: TraceSummary) -> str:
    return one_line(item.agent_name or item.name or item.service_name, 40)


def _state(item: TraceSummary) -> Text:
    if item.has_error:
        return Text("error", style="red")
    return Text("open", style="dim") if item.status == "open" else Text("done")


def _session_state(item: SessionSummary) -> Text:
    if item.traces_with_error:
        return Text(f"{item.traces_with_error} error", style="red")
    return Text("done" if item.runs else "no run")


_TRACE_COLUMNS: tuple[_Column[TraceSummary], ...] = (
    _Column(name="trace", cell=lambda item: item.trace_id),
    _Column(name="age", cell=lambda item: age(item.start_time), justify="right"),
    _Column(name="name", cell=_name, cut_to=_SHORT_CELL),
    _Column(name="kind", cell=lambda item: show(item.kind), min_width=90),
    _Column(name="tools", cell=lambda item: show(item.tool_calls), justify="right"),
    _Column(
        name="tokens", cell=lambda item: show(item.total_tokens), justify="right", min_width=90
    ),
    _Column(name="cost", cell=lambda item: money(item.cost_usd), justify="right", min_width=100),
    _Column(name="latency", cell=lambda item: latency(item.latency_ms), justify="right"),
    _Column(name="state", cell=_state),
)
_SESSION_COLUMNS: tuple[_Column[SessionSummary], ...] = (
    _Column(name="session", cell=lambda item: item.session_id, cut_to=SESSION_ID_WIDTH),
    _Column(name="age", cell=lambda item: age(item.end_time), justify="right"),
    _Column(name="runs", cell=lambda item: show(item.runs), justify="right"),
    _Column(
        name="project",
        cell=lambda item: one_line(item.project, 20),
        min_width=110,
        cut_to=_SHORT_CELL,
    ),
    _Column(
        name="user",
        cell=lambda item: one_line(show(item.user_id), 20),
        min_width=110,
        cut_to=_SHORT_CELL,
    ),
    _Column(name="tools", cell=lambda item: show(item.tool_calls), justify="right"),
    _Column(name="tokens", cell=lambda item: show(item.total_tokens), justify="right"),
    _Column(name="cost", cell=lambda item: money(item.cost_usd), justify="right"),
    _Column(name="state", cell=_session_state),
)
_SESSION_TRACE_COLUMNS: tuple[_Column[TraceSummary], ...] = (
    _Column(name="trace", cell=lambda item: item.trace_id),
    _Column(name="asked", cell=lambda item: one_line(item.input or "-", 60), cut_to=_SHORT_CELL),
    _Column(
        name="answered", cell=lambda item: one_line(item.output or "-", 60), cut_to=_SHORT_CELL
    ),
    _Column(name="kind", cell=lambda item: show(item.kind), min_width=110),
    _Column(
        name="tokens", cell=lambda item: show(item.total_tokens), justify="right", min_width=100
    ),
    _Column(name="cost", cell=lambda item: money(item.cost_usd), justify="right", min_width=110),
    _Column(
        name="latency", cell=lambda item: latency(item.latency_ms), justify="right", min_width=90
    ),
    _Column(name="state", cell=_state),
)


def print_explanation(lines: Iterable[str]) -> None:
    """Print why a trace or session was, or was not, judged."""
    out = terminal.console()
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip(" ")))
        out.print(Text(indent + one_line(line)), soft_wrap=True)


def print_rows(result: SqlResult) -> None:
    """Print the rows of a query."""
    out = terminal.console()
    numeric = ("INT", "DOUBLE", "DECIMAL", "FLOAT", "HUGEINT")
    columns: list[tuple[str, Justify]] = [
        (column.name, "right" if any(n in column.type for n in numeric) else "left")
        for column in result.columns
    ]
    terminal.print_rows(out, columns, result.rows)
    more = ", more match: raise --limit" if result.truncated else ""
    rows = "row" if result.row_count == 1 else "rows"
    out.print(Text(f"{result.row_count} {rows} in {result.elapsed_ms:.0f} ms{more}", style="dim"))


def print_imported(files: Mapping[str, Imported], total: Imported) -> None:
    """Print what became of each file, and of all of them."""
    out = terminal.console()
    for name, done in files.items():
        out.print(Text(f"{visible(name)}: {_imported(done)}"), soft_wrap=True)
        for message in done.messages:
            out.print(Text(f"  {one_line(message, 300)}", style="yellow"), soft_wrap=True)
    if len(files) > 1:
        out.print(Text(f"{len(files)} files: {_imported(total)}", style="bold"), soft_wrap=True)


def _imported(done: Imported) -> str:
    counts = (
        f"{done.received} received, {done.stored} stored, {done.duplicate} duplicate, "
        f"{done.rejected} rejected"
    )
    return f"{counts}, {done.unreadable} unreadable" if done.unreadable else counts


def print_checks(checks: Sequence[Check]) -> None:
    """Print the doctor's findings, with the remedy of what is wrong."""
    out = terminal.console()
    for check in checks:
        mark, style = _MARKS[check.state]
        line = Text.assemble((f"{mark:5}", style), f"{check.name}: {one_line(check.detail)}")
        out.print(line, soft_wrap=True)
        if check.remedy:
            out.print(Text(f"     → {one_line(check.remedy)}"), soft_wrap=True)
