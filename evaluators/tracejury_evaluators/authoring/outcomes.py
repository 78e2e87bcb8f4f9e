"""How outcomes look in a terminal; what traces and evaluators say cannot steer it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import orjson
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tracejury import terminal
from tracejury.result import Failure, Outcome, Score
from tracejury.terminal import VERDICT_STYLES, fit, latency, money, one_line, visible
from tracejury.testing.report import outcome_word
from tracejury_evaluators.authoring.trial import Tried

MOST_PANELS = 4
MAX_LISTED = 10
REASON_CHARS = 1_000


def print_outcomes(tried: Sequence[Tried]) -> None:
    """Print few outcomes as a panel each, many as a table with a sum."""
    out = terminal.console()
    if len(tried) <= MOST_PANELS:
        for one in tried:
            out.print(_panel(one))
        return
    _print_table(out, tried)
    words = Counter(outcome_word(one.outcome) for one in tried)
    sums = ", ".join(f"{count} {word}" for word, count in words.most_common())
    out.print(Text(f"{len(tried)} judgements: {sums}", style="dim"))


def _panel(one: Tried) -> Panel:
    word = outcome_word(one.outcome)
    style = VERDICT_STYLES.get(word, "dim")
    title = Text.assemble((visible(one.ready.label), "bold"), "  ", (word.upper(), f"bold {style}"))
    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for name, text in _lines(one):
        grid.add_row(name, text)
    return Panel(Padding(grid, (0, 1)), title=title, title_align="left", border_style=style)


def _lines(one: Tried) -> Iterator[tuple[str, Text]]:
    """Yield name and text of each line of a panel."""
    yield "trace", Text(visible(one.trace.trace_id) or "-")
    yield from _said(one.outcome)
    took = "-" if one.duration_ms is None else _duration(one.duration_ms)
    yield "took", Text(f"{took}{_spent(one.outcome)}")
    yield "version", Text(f"{visible(one.ready.type)}, fingerprint {one.ready.fingerprint}")


def _said(outcome: Outcome) -> Iterator[tuple[str, Text]]:
    if isinstance(outcome, Failure):
        yield "error", Text(one_line(f"{outcome.error_type}: {outcome.message}", REASON_CHARS))
        if outcome.traceback:
            yield "traceback", Text(visible(outcome.traceback.rstrip()))
        return
    if isinstance(outcome, Score):
        yield "score", Text(f"{outcome.value:.4g}")
    yield "reason", Text(one_line(outcome.reason, REASON_CHARS) or "-")
    if isinstance(outcome, Score):
        for name in ("hits", "misses", "evidence"):
            if items := getattr(outcome, name):
                yield name, _listed(items)
    if outcome.details:
        yield "details", Text(one_line(orjson.dumps(outcome.details).decode(), REASON_CHARS))


def _listed(items: Sequence[str]) -> Text:
    lines = [one_line(item, 200) for item in items[:MAX_LISTED]]
    more = len(items) - len(lines)
    return Text("\n".join([*lines, *([f"and {more} more"] if more else [])]))


def _duration(ms: float) -> str:
    return f"{ms:.2f} ms" if ms < 10 else latency(ms)


def _spent(outcome: Outcome) -> str:
    spent = outcome.spent
    if spent is None:
        return ""
    tokens = "/".join(
        "?" if count is None else str(count) for count in (spent.input_tokens, spent.output_tokens)
    )
    return f", cost {money(spent.usd)}, tokens in/out {tokens}"


def _print_table(out: Console, tried: Sequence[Tried]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("trace", no_wrap=True, max_width=10)
    table.add_column("evaluator", overflow="fold", max_width=28)
    table.add_column("verdict", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("reason", overflow="ellipsis", no_wrap=True)
    for one in tried:
        word = outcome_word(one.outcome)
        table.add_row(
            Text(visible(one.trace.trace_id)[:8]),
            Text(visible(one.ready.label)),
            Text(word, style=VERDICT_STYLES.get(word, "dim")),
            Text(f"{one.outcome.value:.3g}" if isinstance(one.outcome, Score) else "-"),
            Text(_reason(one.outcome)),
        )
    out.print(fit(out, table, {1: 12, 4: 20}))


def _reason(outcome: Outcome) -> str:
    if isinstance(outcome, Failure):
        return one_line(f"{outcome.error_type}: {outcome.message}", 300)
    return one_line(outcome.reason, 300)
