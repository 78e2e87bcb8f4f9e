"""The command line.

Exit codes: 0 fine, 1 a check failed, 2 wrong use, 3 the service could not be reached.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.text import Text

from tracejury import cli_views, terminal
from tracejury.client import Client
from tracejury.dialect_doctor import MAX_RECORDS, check_dialect
from tracejury.doctor import run_checks
from tracejury.errors import ApiError, DefinitionError, TracejuryError, UnreachableError
from tracejury.rest import Imported

CHECK_FAILED = 1
WRONG_USE = 2
UNREACHABLE = 3
MAX_UNREAD = 1000
SERVICES = "tracejury.services"

app = typer.Typer(
    name="tracejury",
    help="A jury for agent traces: OTLP in, traces rebuilt, judged and queryable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="TRACEJURY_URL",
        help="Address of the service's API.",
        show_default="http://127.0.0.1:4319",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Most rows to print.")]


def _example(*lines: str) -> str:
    return "Example:\n\n" + "\n\n".join(lines)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        terminal.console().print(Text(f"tracejury {installed('tracejury')}"))
        raise typer.Exit


@app.command(epilog=_example("tracejury serve --config tracejury.yaml"))
def serve(
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The configuration; without it, the defaults."),
    ] = None,
) -> None:
    """Run the service until it is told to stop."""
    run = _service("serve")
    raise typer.Exit(run(str(config) if config else None))


@app.command(epilog=_example("tracejury demo --keep"))
def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the service running until Ctrl-C.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a real agent against a fresh service and show what was rebuilt and judged."""
    run = _service("demo", extra="demo")
    raise typer.Exit(run(keep=keep, as_json=json))


@app.command(epilog=_example("tracejury traces --since 1h --where 'tool_calls > 3'"))
def traces(
    where: Annotated[
        str | None, typer.Option(help="A condition over the columns of the view traces.")
    ] = None,
    service: Annotated[str | None, typer.Option(help="Only this service.name.")] = None,
    session: Annotated[str | None, typer.Option(help="Only this session id.")] = None,
    since: Annotated[str | None, typer.Option(help="From then on: 1h, 2d or RFC 3339.")] = None,
    until: Annotated[str | None, typer.Option(help="Before then: 1h, 2d or RFC 3339.")] = None,
    limit: Limit = 20,
    cursor: Annotated[
        str | None, typer.Option(help="Continue where next_cursor of the last page says.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List traces, newest first."""
    with _client(url) as client:
        page = client.traces(
            where=where,
            service=service,
            session_id=session,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )
    terminal.print_json(page) if json else cli_views.print_traces(page)


@app.command(epilog=_example("tracejury sessions --since 1d", "tracejury sessions chat-17"))
def sessions(
    session: Annotated[
        str | None,
        typer.Argument(metavar="SESSION", help="A session id: its totals and its traces."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="A condition over the columns of the view sessions.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="Only of this project.")] = None,
    service: Annotated[str | None, typer.Option(help="With a trace of this service.name.")] = None,
    user: Annotated[str | None, typer.Option(help="With a trace of this user id.")] = None,
    since: Annotated[
        str | None, typer.Option(help="With a trace started then or later: 1h, 2d or RFC 3339.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="With a trace started before: 1h, 2d or RFC 3339.")
    ] = None,
    limit: Limit = 20,
    cursor: Annotated[
        str | None, typer.Option(help="Continue where next_cursor of the last page says.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List sessions, latest activity first; or show one with its traces."""
    listing = {"--where": where, "--service": service, "--user": user, "--since": since}
    listing |= {"--until": until, "--cursor": cursor}
    if session is not None:
        if wrong := [name for name, value in listing.items() if value is not None]:
            _fail(f"{wrong[0]} chooses among sessions; leave it or the session id out", WRONG_USE)
        with _client(url) as client:
            detail = client.session(session, project=project, limit=limit)
        terminal.print_json(detail) if json else cli_views.print_session(detail)
        return
    with _client(url) as client:
        page = client.sessions(
            where=where,
            project=project,
            service=service,
            user_id=user,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )
    terminal.print_json(page) if json else cli_views.print_sessions(page)


@app.command(epilog=_example("tracejury explain 4bf92f3577b34da6a3ce929d0e0e4736"))
def explain(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace id.")],
    url: Url = None,
    json: Json = False,
) -> None:
    """Say why a trace was judged as it was, or why it was not."""
    with _client(url) as client:
        explanation = client.explain(trace)
    terminal.print_json(explanation) if json else cli_views.print_explanation(explanation)


@app.command(
    epilog=_example("tracejury sql 'SELECT model, sum(cost_usd) FROM llm_calls GROUP BY model'")
)
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT; - reads stdin.")],
    limit: Limit = 1000,
    url: Url = None,
    json: Json = False,
) -> None:
    """Run a read-only query over the views."""
    text = sys.stdin.read() if query == "-" else query
    with _client(url) as client:
        result = client.sql(text, limit=limit)
    terminal.print_json(result) if json else cli_views.print_rows(result)


@app.command("import", epilog=_example("tracejury import traces.jsonl more/*.json"))
def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", exists=True, dir_okay=False, readable=True),
    ],
    signal: Annotated[
        str | None, typer.Option(help="What protobuf files hold: traces (default) or logs.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Send OTLP files to the service: protobuf, JSON, or JSON lines."""
    done: dict[str, Imported] = {}
    with _client(url) as client, _progress(files, quiet=json) as advance:
        for path in files:
            with _named(path):
                done[str(path)] = client.import_file(path, signal=signal, progress=advance)
    if json:
        terminal.print_json({"files": {k: v.model_dump(mode="json") for k, v in done.items()}})
    else:
        cli_views.print_imported(done)


@app.command(epilog=_example("tracejury dialects --all"))
def dialects(
    every: Annotated[
        bool, typer.Option("--all", "-a", help="Also dialects that no recent span follows.")
    ] = False,
    limit: Limit = 20,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the dialects seen, and what looks like GenAI content and is read by none."""
    with _client(url) as client:
        report = client.dialects(unread=min(limit, MAX_UNREAD))
    terminal.print_json(report) if json else cli_views.print_dialects(report, every=every)


@app.command(
    epilog=_example(
        "tracejury doctor --config tracejury.yaml",
        "tracejury doctor --dialects acme-dialect.yaml --otlp traces.jsonl",
    )
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
        with _explained():
            check = check_dialect(dialects, otlp or [], url, offline=offline, records=records)
        terminal.print_json(check.to_json()) if json else cli_views.print_dialect_check(check)
        return
    if otlp or offline:
        _fail("--otlp and --offline stand beside --dialects FILE; add it", WRONG_USE)
    with _explained():
        checks = run_checks(url, config)
    if json:
        terminal.print_json({"checks": [check.to_json() for check in checks]})
    else:
        cli_views.print_checks(checks)
    if any(check.state == "failed" for check in checks):
        raise typer.Exit(CHECK_FAILED)


def main() -> None:
    """Run the command line."""
    app()


def _service(name: str, extra: str = "server") -> Callable[..., int]:
    """Return a command of the service, or say in one line what to install."""
    found = entry_points(group=SERVICES, name=name)
    try:
        loaded: Any = next(iter(found)).load()
    except (StopIteration, ImportError) as error:
        missing = getattr(error, "name", None) or "tracejury_collector"
        _fail(
            f"'tracejury {name}' needs the extra {extra!r} (there is no module {missing!r}): "
            f"pip install 'tracejury[{extra}]'",
            WRONG_USE,
        )
    return loaded  # type: ignore[no-any-return]


@contextlib.contextmanager
def _client(url: str | None) -> Iterator[Client]:
    with _explained(), Client(url) as client:
        yield client


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn the library's errors into lines on stderr, one a problem, and an exit code."""
    try:
        yield
    except UnreachableError as error:
        _fail(str(error), UNREACHABLE)
    except ApiError as error:
        _fail(str(error), UNREACHABLE if error.status >= 500 else WRONG_USE)
    except DefinitionError as error:
        *others, last = str(error).splitlines()
        for line in others:
            terminal.print_problem(line)
        _fail(last, WRONG_USE)
    except (TracejuryError, OSError) as error:
        _fail(str(error), WRONG_USE)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let a refusal say which file it is about."""
    try:
        yield
    except ApiError as error:
        detail = f"{path}: {error.detail}"
        raise ApiError(
            status=error.status, code=error.code, detail=detail, remedy=error.remedy
        ) from error


def _fail(message: str, code: int) -> NoReturn:
    terminal.print_problem(message)
    raise typer.Exit(code)


@contextlib.contextmanager
def _progress(files: list[Path], *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show how many bytes of the files are done, on stderr."""
    err = terminal.console(stderr=True)
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("import", total=sum(path.stat().st_size for path in files))
        yield lambda size: bar.advance(task, size)


if __name__ == "__main__":
    main()
