"""Commands that run the service, or say what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tracejury import terminal
from tracejury.cli import show, show_dialects
from tracejury.cli.app import (
    CHECK_FAILED,
    WRONG_USE,
    Json,
    Url,
    app,
    example,
    explained,
    fail,
    service_command,
)
from tracejury.dialect_doctor import MAX_RECORDS, check_dialect
from tracejury.doctor import run_checks
from tracejury.errors import MissingExtraError

PANEL = "Service"


@app.command(rich_help_panel=PANEL, epilog=example("tracejury serve --config tracejury.yaml"))
def serve(
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The configuration; without it, the defaults."),
    ] = None,
) -> None:
    """Run the service until it is told to stop."""
    run = service_command("serve")
    raise typer.Exit(run(str(config) if config else None))


@app.command(rich_help_panel=PANEL, epilog=example("tracejury demo --keep"))
def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the service running until Ctrl-C.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a real agent against a fresh service and show what was rebuilt and judged."""
    run = service_command("demo", extra="demo")
    raise typer.Exit(run(keep=keep, as_json=json))


@app.command(rich_help_panel=PANEL, epilog=example("claude mcp add tracejury -- tracejury mcp"))
def mcp(url: Url = None) -> None:
    """Serve an assistant that speaks MCP, on stdin and stdout; needs a running service."""
    with explained():
        _mcp_server()(url)


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury doctor --config tracejury.yaml",
        "tracejury doctor --dialects acme-dialect.yaml --otlp traces.jsonl",
    ),
)
def doctor(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The configuration to check.")
    ] = None,
    dialects: Annotated[
        Path | None,
        typer.Option(help="Only check this dialect of your own, on the service's newest spans."),
    ] = None,
    otlp: Annotated[
        list[Path] | None,
        typer.Option(help="Try the dialect on this OTLP file, not on the service; repeatable."),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Only check that the dialect's file is valid.")
    ] = False,
    records: Annotated[
        int, typer.Option(min=1, max=MAX_RECORDS, help="Newest records to try the dialect on.")
    ] = 2000,
    url: Url = None,
    json: Json = False,
) -> None:
    """Check the installation, the configuration and the running service; or one dialect."""
    if dialects is not None:
        with explained():
            check = check_dialect(dialects, otlp or [], url, offline=offline, records=records)
        terminal.print_json(check.to_json()) if json else show_dialects.print_dialect_check(check)
        return
    if otlp or offline:
        fail("--otlp and --offline stand beside --dialects FILE; add it", WRONG_USE)
    with explained():
        checks = run_checks(url, config)
    if json:
        terminal.print_json({"checks": [check.to_json() for check in checks]})
    else:
        show.print_checks(checks)
    if any(check.state == "failed" for check in checks):
        raise typer.Exit(CHECK_FAILED)


def _mcp_server() -> Callable[[str | None], None]:
    """What serves an assistant; it is loaded for this command alone."""
    try:
        from tracejury.mcp.stdio import serve_stdio
    except ImportError as error:
        raise MissingExtraError(
            f"'tracejury mcp' needs the extra 'mcp' (there is no module {error.name!r}): "
            "pip install 'tracejury[mcp]'"
        ) from error
    return serve_stdio
