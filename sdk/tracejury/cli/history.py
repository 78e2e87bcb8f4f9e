"""Judging history: what `tracejury evaluate` does without --trace, and following a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tracejury import terminal
from tracejury.cli import show_runs
from tracejury.cli.app import CHECK_FAILED, UNREACHABLE, WRONG_USE, connected, fail
from tracejury.client import Client
from tracejury.rest import Run

PANEL = "History"
_EXAMPLE = '{"type": "word-count", "config": {"max_words": 50}}'


def _option(text: str, *names: str, **options: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=PANEL, **options)


Rule = Annotated[str | None, _option("This rule of the service judges, as it does live.")]
Shadow = Annotated[
    str | None, _option("Compare this evaluator of the service with the candidate.", metavar="NAME")
]
Candidate = Annotated[
    str | None,
    _option("What might take its place: type, config, criteria.", metavar="JSON|@FILE"),
]
Where = Annotated[str | None, _option("A condition over the columns of the view traces.")]
Since = Annotated[str | None, _option("Started from then on: 1h, 2d or RFC 3339.")]
Until = Annotated[str | None, _option("Started before then: 1h, 2d or RFC 3339.")]
Rate = Annotated[
    float | None,
    _option("Share of the traces, in place of the rule's sampling.", min=0.0, max=1.0),
]
Rejudge = Annotated[bool, _option("Also what the same version has judged already.", "--rejudge")]
DryRun = Annotated[bool, _option("Only say how many judgements, and at what cost.", "--dry-run")]
Yes = Annotated[bool, _option("Do not ask before it begins.", "--yes", "-y")]
Detach = Annotated[bool, _option("Do not wait for its end.", "--detach")]


def refuse(given: Mapping[str, object], why: str) -> None:
    """End with wrong use where any of these options is given."""
    if wrong := [name for name, value in given.items() if value not in (None, False, [])]:
        fail(f"{wrong[0]} {why}", WRONG_USE)


def shadow_of(evaluator: str | None, candidate: str | None) -> dict[str, Any] | None:
    """Return what is to be compared, None where nothing is."""
    if evaluator is None and candidate is None:
        return None
    if evaluator is None or candidate is None:
        fail("--shadow NAME and --candidate JSON|@FILE go together; give both", WRONG_USE)
    return {"evaluator": evaluator, "candidate": _candidate(candidate)}


def _candidate(text: str) -> dict[str, Any]:
    data = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        fail(f"--candidate is not JSON: {error}; write it like '{_EXAMPLE}'", WRONG_USE)
    if not isinstance(found, dict):
        fail(f"--candidate is no object; write it like '{_EXAMPLE}'", WRONG_USE)
    return found


def judge_history(
    request: dict[str, Any], *, url: str | None, dry_run: bool, yes: bool, detach: bool, json: bool
) -> None:
    """Say what a run would do; unless that is all, ask, begin it, and follow it to its end."""
    if not (dry_run or yes or (sys.stdin.isatty() and not json)):
        fail("nobody can be asked here; add --yes to begin, or --dry-run", WRONG_USE)
    with connected(url) as client:
        if dry_run or not yes:
            estimate = client.estimate_run(**request)
            if dry_run and json:
                terminal.print_json(estimate)
                return
            show_runs.print_estimate(estimate)
            if dry_run or (estimate.complete and not estimate.to_judge):
                return
            typer.confirm("Begin?", abort=True, err=True)
        run = client.start_run(**request)
        if detach:
            terminal.print_json(run) if json else show_runs.print_begun(run)
            return
        finish(client, run, quiet=json)


def finish(client: Client, run: Run, *, quiet: bool) -> None:
    """Follow a run to its end and print what came of it; Ctrl-C leaves it to go on."""
    last = run
    try:
        with _bar(run, quiet=quiet) as bar:
            for last in client.follow_run(run.run_id):
                bar(last)
    except KeyboardInterrupt:
        show_runs.print_detached(last)
        raise typer.Exit(0) from None
    if last.state == "running":
        message = f"the service stopped telling of run {run.run_id}; it goes on: look again with "
        fail(f"{message}'tracejury runs {run.run_id}'", UNREACHABLE)
    shown = client.run(run.run_id)
    terminal.print_json(shown) if quiet else show_runs.print_run(shown)
    if shown.state != "done":
        raise typer.Exit(CHECK_FAILED)


@contextmanager
def _bar(run: Run, *, quiet: bool) -> Iterator[Callable[[Run], None]]:
    """Show how far the run is, on stderr."""
    err = terminal.console(stderr=True)
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    columns = (
        TextColumn("judging"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[said]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("run", total=1.0, said=show_runs.said(run))

        def advance(now: Run) -> None:
            progress.update(task, completed=now.progress, said=show_runs.said(now))

        yield advance
