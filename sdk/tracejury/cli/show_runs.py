"""How the command line shows runs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tracejury import terminal
from tracejury.rest import Comparison, Page, Run, RunCounts, RunEstimate
from tracejury.terminal import age, money, one_line

_ENDED = {"running": "goes on", "done": "done", "canceled": "canceled", "failed": "failed"}
_SHOWN_CHANGES = 20


def print_runs(page: Page[Run]) -> None:
    """Print one page of runs."""
    out = terminal.console()
    if not page.items:
        out.print("no runs")
        return
    rows = [
        (
            run.run_id,
            age(run.created_at),
            run.rule or ", ".join(e.name for e in run.evaluators),
            f"{run.progress:.0%}",
            run.judged,
            money(run.cost_usd),
            run.state,
        )
        for run in page.items
    ]
    table = terminal.table(
        "",
        [
            ("run", "left"),
            ("age", "right"),
            ("judged by", "left"),
            ("done", "right"),
            ("judged", "right"),
            ("cost", "right"),
            ("state", "left"),
        ],
        rows,
    )
    out.print(terminal.fit(out, table, {2: 8}))
    if page.next_cursor:
        out.print(Text(f"more: --cursor {page.next_cursor}", style="dim"), soft_wrap=True)


def print_ended_before(run: Run) -> None:
    """Say that a run that was to be canceled had ended already."""
    words = f"run {run.run_id} had ended already: it is {run.state}, and stays so"
    terminal.console(stderr=True).print(Text(words), soft_wrap=True)


def print_run(run: Run) -> None:
    """Print how far a run is, what came of it, and what it compared."""
    out = terminal.console()
    for line in _run_lines(run):
        out.print(Text(one_line(line)), soft_wrap=True)
    rows = [
        (e.name, e.to_judge, e.judged_already, e.passed, e.not_passed, e.skips, e.failures)
        for e in run.evaluators
    ]
    columns = ("evaluator", "to judge", "before", "pass", "not pass", "skip", "failure")
    table = terminal.table(
        "", [(name, "right" if n else "left") for n, name in enumerate(columns)], rows
    )
    out.print(terminal.fit(out, table, {0: 10}))
    if run.comparison:
        _print_comparison(run.comparison)


def print_estimate(estimate: RunEstimate) -> None:
    """Print what a run would do, and what it would cost."""
    out = terminal.console()
    for line in _counts_lines(estimate.target, estimate.total, estimate.counts):
        out.print(Text(line), soft_wrap=True)
    if not estimate.complete:
        out.print("looking at all of them took too long; the rest is estimated from the newest")
    rows = [
        (
            e.name,
            e.to_judge,
            e.judged_already,
            money(e.cost_usd) if e.cost_usd is not None else "unknown",
            _tokens(e.input_tokens, e.output_tokens),
            _BASIS[e.basis],
        )
        for e in estimate.evaluators
    ]
    columns = ("evaluator", "to judge", "before", "cost", "tokens", "from")
    table = terminal.table(
        "", [(name, "right" if 0 < n < 5 else "left") for n, name in enumerate(columns)], rows
    )
    out.print(terminal.fit(out, table, {0: 10}))
    cost = "an unknown cost" if estimate.cost_usd is None else f"about {money(estimate.cost_usd)}"
    out.print(f"{estimate.to_judge} judgements for {cost}")


def print_begun(run: Run) -> None:
    """Print where to look at a run that was begun."""
    line = f"run {run.run_id} has begun; look at it with 'tracejury runs {run.run_id}'"
    terminal.console().print(line, soft_wrap=True)


def print_detached(run: Run) -> None:
    """Say that a run goes on without being watched."""
    err = terminal.console(stderr=True)
    err.print(
        Text(
            f"run {run.run_id} goes on; look again with 'tracejury runs {run.run_id} --follow', "
            f"end it with 'tracejury runs cancel {run.run_id}'"
        ),
        soft_wrap=True,
    )


def said(run: Run) -> str:
    """Return what the progress bar says of a run."""
    failures = sum(e.failures for e in run.evaluators)
    broken = f", {failures} broke" if failures else ""
    waits = f", waits: {one_line(run.waiting, 60)}" if run.waiting else ""
    return f"{run.judged} of {run.to_judge} judged{broken}{waits}"


_BASIS = {
    "free": "free",
    "same_version": "its own results",
    "former_version": "a former version",
    "unknown": "-",
}


def _run_lines(run: Run) -> Iterator[str]:
    what = f"rule {run.rule!r}" if run.rule else ", ".join(repr(e.name) for e in run.evaluators)
    yield f"run {run.run_id} of {what}: {_ENDED[run.state]}, {run.progress:.0%}"
    if run.error:
        yield f"because {run.error}"
    if run.waiting and run.state == "running":
        yield f"waits: {run.waiting}"
    yield from _counts_lines(run.target, run.total, run.counts)
    cost = "" if run.cost_usd is None else f", {money(run.cost_usd)}"
    yield f"{run.judged} of {run.to_judge} judgements made{cost}"


def _counts_lines(target: str, total: int, counts: RunCounts) -> Iterator[str]:
    looked = f"{counts.examined} of {total} {target}s looked at"
    yield f"{looked}, the condition holds for {counts.targets}"
    parts = [f"{n} {outcome.replace('_', ' ')}" for outcome, n in sorted(counts.outcomes.items())]
    if parts:
        yield ", ".join(parts)
    if counts.judged_already:
        yield f"{counts.judged_already} of the selected ones were judged before"


def _tokens(read: int | None, written: int | None) -> str:
    return "unknown" if read is None and written is None else str((read or 0) + (written or 0))


def _print_comparison(found: Comparison) -> None:
    out = terminal.console()
    for line in _comparison_lines(found):
        out.print(Text(one_line(line)), soft_wrap=True)
    for change in found.changed[:_SHOWN_CHANGES]:
        text = f"  {change.trace_id}  {change.verdict} -> {change.candidate_verdict}"
        out.print(Text(one_line(text)), soft_wrap=True)
    if found.changed_count > _SHOWN_CHANGES:
        out.print(f"  and {found.changed_count - _SHOWN_CHANGES} more; --json shows them")


def _comparison_lines(found: Comparison) -> Iterator[str]:
    yield f"{found.candidate!r} beside {found.evaluator!r}: {found.compared} compared"
    if found.agreed:
        a = found.agreed
        yield f"agreement {a.value:.1%} (95 %: {a.low:.1%} to {a.high:.1%})" + (
            "" if found.kappa is None else f", kappa {found.kappa:.2f}"
        )
    yield (
        f"both pass {found.both_passed}, neither {found.neither_passed}, only {found.evaluator!r} "
        f"{found.only_evaluator_passed}, only {found.candidate!r} {found.only_candidate_passed}"
    )
    if found.changed_count:
        yield f"{found.changed_count} verdicts changed:"
