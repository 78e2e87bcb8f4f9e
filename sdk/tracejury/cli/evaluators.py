"""Commands for authors of evaluators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracejury.cli import history
from tracejury.cli.app import (
    WRONG_USE,
    Json,
    Url,
    app,
    example,
    explained,
    fail,
    service_command,
)

PANEL = "Evaluators"

add = typer.Typer(no_args_is_help=True, help="Write a new file to start from.")
register = typer.Typer(no_args_is_help=True, help="Check a file and describe what it defines.")
app.add_typer(add, name="add", rich_help_panel=PANEL)
app.add_typer(register, name="register", rich_help_panel=PANEL)

Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Also evaluators of this Python file or module; repeatable."),
]


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury evaluators",
        "tracejury evaluators tool-usage",
        "tracejury evaluators --plugin checks.py --json",
    ),
)
def evaluators(
    type_name: Annotated[
        str | None, typer.Argument(metavar="TYPE", help="Explain this type of evaluator.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="Also those that this configuration brings."),
    ] = None,
    plugin: Plugins = None,
    json: Json = False,
) -> None:
    """List the types of evaluators, or explain one: config, criteria, an example."""
    run = service_command("evaluators")
    with explained():
        code = run(type_name, config=config, plugins=plugin or [], as_json=json)
    raise typer.Exit(code)


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury evaluate --trace run.jsonl --evaluator no-loops",
        "tracejury evaluate --trace run.jsonl --evaluator checks.py:CitesSources "
        '--criteria \'{"sources": ["a"]}\'',
        "tracejury evaluate --trace 4bf92f3577b34da6a3ce929d0e0e4736 --stdin-payload",
        "tracejury evaluate --rule production --since 7d --where has_error --dry-run",
        "tracejury evaluate --evaluator right --since 30d --rate 0.1 --yes",
        "tracejury evaluate --shadow right --candidate @right-2.json --since 7d",
    ),
)
def evaluate(
    trace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|ID",
            help="A file (OTLP, or a trace of the API), or the id of a trace of the service; "
            "repeatable. Left out, the service judges its history.",
        ),
    ] = None,
    evaluator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE|NAME|FILE",
            help="A type, a name of --config-file, or FILE.py[:CLASS]; over history, a name of "
            "the service; repeatable.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JSON|@FILE", help="The evaluator's config; once for all, or once for each."
        ),
    ] = None,
    criteria: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JSON|@FILE", help="The case's criteria; once for all, or once for each."
        ),
    ] = None,
    config_file: Annotated[
        Path | None,
        typer.Option("--config-file", "-c", help="A configuration: its plugins, names and judge."),
    ] = None,
    plugin: Plugins = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1, help="Longest judgement in seconds.", show_default="that of its type, else 60"
        ),
    ] = None,
    stdin_payload: Annotated[
        bool,
        typer.Option("--stdin-payload", help="Print what a process evaluator's script reads."),
    ] = False,
    rule: history.Rule = None,
    shadow: history.Shadow = None,
    candidate: history.Candidate = None,
    where: history.Where = None,
    since: history.Since = None,
    until: history.Until = None,
    rate: history.Rate = None,
    rejudge: history.Rejudge = False,
    dry_run: history.DryRun = False,
    yes: history.Yes = False,
    detach: history.Detach = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Try evaluators on traces, on the spot, or judge the service's history.

    With --trace it ends with 1 where one fails or breaks, else where the run does not get done.
    """
    if trace is None:
        spot: dict[str, object] = {
            "--config": config,
            "--criteria": criteria,
            "--config-file": config_file,
        }
        spot |= {"--plugin": plugin, "--timeout": timeout, "--stdin-payload": stdin_payload}
        history.refuse(spot, "goes with --trace; the service's evaluators have theirs")
        with explained():
            compared = history.shadow_of(shadow, candidate)
        request: dict[str, object] = {
            "rule": rule,
            "evaluators": evaluator,
            "shadow": compared,
            "where": where,
        }
        request |= {"since": since, "until": until, "rate": rate, "rejudge": rejudge or None}
        history.judge_history(request, url=url, dry_run=dry_run, yes=yes, detach=detach, json=json)
        return
    past: dict[str, object] = {
        "--rule": rule,
        "--shadow": shadow,
        "--candidate": candidate,
        "--where": where,
    }
    past |= {"--since": since, "--until": until, "--rate": rate, "--rejudge": rejudge}
    past |= {"--dry-run": dry_run, "--yes": yes, "--detach": detach}
    history.refuse(past, "is about the service's history; leave it or --trace out")
    if bool(evaluator) == stdin_payload:
        fail("give either --evaluator or --stdin-payload", WRONG_USE)
    if stdin_payload:
        write = service_command("stdin-payload")
        with explained():
            code = write(traces=trace, criteria=criteria or [], url=url)
        raise typer.Exit(code)
    run = service_command("evaluate")
    with explained():
        code = run(
            traces=trace,
            evaluators=evaluator,
            configs=config or [],
            criteria=criteria or [],
            config_file=config_file,
            plugins=plugin or [],
            timeout_s=timeout,
            url=url,
            as_json=json,
        )
    raise typer.Exit(code)


@add.callback()
def _add() -> None:
    """Write a new file to start from."""


@add.command(
    "evaluator",
    epilog=example(
        "tracejury add evaluator cites-sources",
        "tracejury add evaluator cites-sources --style process --dir checks",
    ),
)
def add_evaluator(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as cites-sources.")],
    folder: Annotated[
        Path, typer.Option("--dir", "-d", file_okay=False, help="Where to write it.")
    ] = Path(),
    style: Annotated[
        str, typer.Option(help="function, class, process, uipath or agentprobe.")
    ] = "function",
    json: Json = False,
) -> None:
    """Write a working evaluator with a test beside it."""
    run = service_command("add-evaluator")
    with explained():
        code = run(name, folder=folder, style=style, as_json=json)
    raise typer.Exit(code)


@register.callback()
def _register() -> None:
    """Check a file and describe what it defines."""


@register.command("evaluator", epilog=example("tracejury register evaluator cites_sources.py"))
def register_evaluator(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Python file of evaluators.")],
    json: Json = False,
) -> None:
    """Check the evaluators of a file; write their types and a config beside it as JSON."""
    run = service_command("register-evaluator")
    with explained():
        code = run(file, as_json=json)
    raise typer.Exit(code)
