"""Commands that show and change rules and evaluators of a running service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import Json, Url, app, connected, example, explained
from tracejury.cli.documents import read_document
from tracejury.rest import Definition, DefinitionKind, Page
from tracejury.terminal import visible

PANEL = "Judging"

define = typer.Typer(no_args_is_help=True, help="Add or change a rule or an evaluator.")
undefine = typer.Typer(no_args_is_help=True, help="Remove a rule or an evaluator.")
app.add_typer(define, name="define", rich_help_panel=PANEL)
app.add_typer(undefine, name="undefine", rich_help_panel=PANEL)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name.")]
File = Annotated[
    str, typer.Argument(metavar="FILE", help="What it is, in YAML or JSON; - reads stdin.")
]
Version = Annotated[
    str | None,
    typer.Option(
        "--if-version", metavar="VERSION", help="Only if it has this version; '' if it is new."
    ),
]


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury definitions",
        "tracejury definitions rule",
        "tracejury definitions rule production --json",
    ),
)
def definitions(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="Only these: rule or evaluator.")
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this one.")] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show the rules and evaluators in force, and who defined them."""
    kinds: list[DefinitionKind] = [_kind(kind)] if kind else ["rule", "evaluator"]
    with connected(url) as client:
        if name is not None:
            one = client.definition(kinds[0], name)
            terminal.print_json(one) if json else _print_one(one)
            return
        found = [d for each in kinds for d in client.definitions(each)]
    terminal.print_json(Page[Definition](items=found)) if json else _print_all(found)


@define.command("rule", epilog=example("tracejury define rule production production.yaml"))
def define_rule(
    name: Name, file: File, version: Version = None, url: Url = None, json: Json = False
) -> None:
    """Add or change a rule: where, kinds, sample, evaluators, as under `rules:` of a config."""
    _define("rule", name, file, version, url, json=json)


@define.command("evaluator", epilog=example("tracejury define evaluator fast fast.yaml"))
def define_evaluator(
    name: Name, file: File, version: Version = None, url: Url = None, json: Json = False
) -> None:
    """Add or change an evaluator: type, config, criteria, timeout, as under `evaluators:`."""
    _define("evaluator", name, file, version, url, json=json)


@undefine.command("rule", epilog=example("tracejury undefine rule production"))
def undefine_rule(name: Name, version: Version = None, url: Url = None, json: Json = False) -> None:
    """Remove a rule; what it has selected is still judged."""
    _undefine("rule", name, version, url, json=json)


@undefine.command("evaluator", epilog=example("tracejury undefine evaluator fast"))
def undefine_evaluator(
    name: Name, version: Version = None, url: Url = None, json: Json = False
) -> None:
    """Remove an evaluator that no rule uses."""
    _undefine("evaluator", name, version, url, json=json)


def _kind(text: str) -> DefinitionKind:
    singular = text.removesuffix("s")
    if singular not in ("rule", "evaluator"):
        raise typer.BadParameter(f"{text!r} is neither rule nor evaluator", param_hint="KIND")
    return cast(DefinitionKind, singular)


def _define(
    kind: DefinitionKind, name: str, file: str, version: str | None, url: str | None, *, json: bool
) -> None:
    with explained():
        body: dict[str, Any] = (
            read_document(sys.stdin.buffer, "stdin") if file == "-" else _read(Path(file))
        )
    with connected(url) as client:
        found = client.define(kind, name, body, version=version)
    if json:
        terminal.print_json(found)
    else:
        terminal.console().print(
            Text(f"{kind} {visible(name)} is in force, version {found.version}"), soft_wrap=True
        )


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return read_document(file, str(path))


def _undefine(
    kind: DefinitionKind, name: str, version: str | None, url: str | None, *, json: bool
) -> None:
    with connected(url) as client:
        client.undefine(kind, name, version=version)
    if json:
        terminal.print_json({"kind": kind, "name": name, "removed": True})
    else:
        terminal.console().print(Text(f"{kind} {visible(name)} is removed"), soft_wrap=True)


def _print_all(found: list[Definition]) -> None:
    rows = [[d.kind, visible(d.name), d.source, _what(d), d.version] for d in found]
    columns: list[tuple[str, terminal.Justify]] = [
        (title, "left") for title in ("kind", "name", "source", "what", "version")
    ]
    terminal.console().print(terminal.table("", columns, rows))


def _what(definition: Definition) -> Text:
    if definition.fault:
        return Text(f"cannot be used: {visible(definition.fault)}", style="red")
    body = definition.body
    if definition.kind == "evaluator":
        return Text(visible(str(body.get("type"))))
    return Text(visible(", ".join(map(str, body.get("evaluators", ())))))


def _print_one(definition: Definition) -> None:
    out = terminal.console()
    lines = [
        f"{definition.kind} {definition.name}",
        f"defined by {_SOURCES[definition.source]}, in force since {definition.effective_from}",
        f"version {definition.version}, fingerprint {definition.fingerprint or 'none'}",
    ]
    if definition.fault:
        lines.append(f"cannot be used: {definition.fault}")
    for line in lines:
        out.print(Text(visible(line)), soft_wrap=True)
    terminal.print_json(definition.body)


_SOURCES = {"file": "the configuration file", "default": "default", "api": "the API"}
