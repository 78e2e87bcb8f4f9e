"""Commands about the keys of a service: they work on its file of keys, on its machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracejury.cli.app import Json, app, example, explained, service_command

PANEL = "Service"

keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke the keys of the service.")
app.add_typer(keys, name="keys", rich_help_panel=PANEL)

Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The service's configuration; without it, the defaults."),
]
File = Annotated[
    Path | None,
    typer.Option("--file", help="The file of keys itself, wherever it is."),
]


@keys.command(
    epilog=example(
        "tracejury keys create --name ci --scope read --expires 90d",
        "tracejury keys create --name agents --scope ingest --project booking",
    )
)
def create(
    name: Annotated[str, typer.Option(help="What it is for; shown in lists and in the audit log.")],
    scope: Annotated[
        list[str],
        typer.Option(help="What it allows: ingest, read, write, or admin (all); repeatable."),
    ],
    project: Annotated[
        str | None,
        typer.Option(help="Its spans are of this project, and it sees this project alone."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="How long it counts, such as 90d; without it, for good.")
    ] = None,
    config: Config = None,
    file: File = None,
    json: Json = False,
) -> None:
    """Make a key. Its text goes to standard output this once; only a hash of it is kept."""
    run = service_command("keys-create")
    with explained():
        run(name, scope, project=project, expires=expires, config=config, file=file, as_json=json)


@keys.command("list", epilog=example("tracejury keys list --config tracejury.yaml"))
def list_(config: Config = None, file: File = None, json: Json = False) -> None:
    """List the keys: what they allow, and whether they count; never their texts."""
    run = service_command("keys-list")
    with explained():
        run(config=config, file=file, as_json=json)


@keys.command(epilog=example("tracejury keys revoke ci", "tracejury keys revoke 9f86d081"))
def revoke(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Its id or its name.")],
    config: Config = None,
    file: File = None,
    json: Json = False,
) -> None:
    """Revoke a key: a running service refuses it within a second."""
    run = service_command("keys-revoke")
    with explained():
        run(key, config=config, file=file, as_json=json)
