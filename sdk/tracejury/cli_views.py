"""How the command line shows the documents of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from tracejury import terminal
from tracejury.doctor import Check
from tracejury.rest import Explanation, Imported, Page, SqlResult, TraceSummary
from tracejury.terminal import Justify, age, latency, money, one_line, show, visible

TRACE_ID_WIDTH = 32
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
    shown = [c for c in _TRACE_COLUMNS if c.min_width <= out.width]
    rows = ([column.cell(item) for column in shown] for item in page.items)
    table = terminal.table("", [(column.name, column.justify) for column in shown], rows)
    table.columns[0].min_width = TRACE_ID_WIDTH
    out.print(table)
    if page.next_cursor:
        out.print(Text(f"more: --cursor {visible(page.next_cursor)}", style="dim"), soft_wrap=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of the list of traces, shown in terminals of at least `min_width`."""

    name: str
    cell: Callable[[TraceSummary], Text | str]
    justify: Justify = "left"
    min_width: int = 0


def _name(item: TraceSummary) -> str:
    return one_line(item.agent_name or item.name or item.service_name, 40)


def _state(item: TraceSummary) -> Text:
    if item.has_error:
        return Text("error", style="red")
    return Text("open", style="dim") if item.status == "open" else Text("done")


_TRACE_COLUMNS = (
    _Column(name="trace", cell=lambda item: item.trace_id),
    _Column(name="age", cell=lambda item: age(item.start_time), justify="right"),
    _Column(name="name", cell=_name),
    _Column(name="tools", cell=lambda item: show(item.tool_calls), justify="right"),
    _Column(
        name="tokens", cell=lambda item: show(item.total_tokens), justify="right", min_width=90
    ),
    _Column(name="cost", cell=lambda item: money(item.cost_usd), justify="right", min_width=100),
    _Column(name="latency", cell=lambda item: latency(item.latency_ms), justify="right"),
    _Column(name="state", cell=_state),
)


def print_explanation(explanation: Explanation) -> None:
    """Print why a trace was, or was not, judged."""
    out = terminal.console()
    for line in explanation.lines:
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


def print_imported(files: Mapping[str, Imported]) -> None:
    """Print what became of each file."""
    out = terminal.console()
    for name, done in files.items():
        line = (
            f"{visible(name)}: {done.received} received, {done.stored} stored, "
            f"{done.duplicate} duplicate, {done.rejected} rejected"
        )
        out.print(Text(line), soft_wrap=True)
        for message in done.messages:
            out.print(Text(f"  {one_line(message, 300)}", style="yellow"), soft_wrap=True)


def print_checks(checks: Sequence[Check]) -> None:
    """Print the doctor's findings, with the remedy of what is wrong."""
    out = terminal.console()
    for check in checks:
        mark, style = _MARKS[check.state]
        line = Text.assemble((f"{mark:5}", style), f"{check.name}: {one_line(check.detail)}")
        out.print(line, soft_wrap=True)
        if check.remedy:
            out.print(Text(f"     → {one_line(check.remedy)}"), soft_wrap=True)
