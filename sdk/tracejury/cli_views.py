"""How the command line shows the documents of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from tracejury import terminal
from tracejury.doctor import Check
from tracejury.rest import Explanation, Imported, Page, SqlResult, TraceSummary
from tracejury.terminal import Justify, latency, one_line, visible

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
    columns: list[tuple[str, Justify]] = [
        ("trace", "left"),
        ("started", "left"),
        ("name", "left"),
        ("tools", "right"),
        ("tokens", "right"),
        ("latency", "right"),
        ("state", "left"),
    ]
    table = terminal.table("", columns, (_trace_row(item) for item in page.items))
    table.columns[0].min_width = 32
    out.print(table)
    if page.next_cursor:
        out.print(Text(f"more: --cursor {visible(page.next_cursor)}", style="dim"))


def _trace_row(item: TraceSummary) -> list[str | int | Text | None]:
    state = Text("open", style="dim") if item.status == "open" else Text("ok", style="green")
    if item.has_error:
        state = Text("error", style="red")
    started = (item.start_time or "")[5:16].replace("T", " ")
    name = item.agent_name or item.name or item.service_name
    tokens = item.total_tokens
    return [
        item.trace_id,
        started or "-",
        one_line(name, 40),
        item.tool_calls,
        tokens,
        latency(item.latency_ms),
        state,
    ]


def print_explanation(explanation: Explanation) -> None:
    """Print why a trace was, or was not, judged."""
    out = terminal.console()
    for line in explanation.lines:
        out.print(Text(visible(line)), soft_wrap=True)


def print_rows(result: SqlResult) -> None:
    """Print the rows of a query."""
    out = terminal.console()
    numeric = ("INT", "DOUBLE", "DECIMAL", "FLOAT", "HUGEINT")
    columns: list[tuple[str, Justify]] = [
        (column.name, "right" if any(n in column.type for n in numeric) else "left")
        for column in result.columns
    ]
    out.print(terminal.table("", columns, result.rows))
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
