"""Commands that show traces and sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated

import typer

from tracejury import terminal
from tracejury.cli import show
from tracejury.cli.app import WRONG_USE, Json, Limit, Url, app, connected, example, fail
from tracejury.client import Client
from tracejury.errors import ApiError
from tracejury.rest import Explanation, SessionExplanation, TraceSummary

PANEL = "Traces"
_TRACE_ID = re.compile("[0-9a-fA-F]{32}")


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury traces --since 1h --where 'tool_calls > 3'",
        "tracejury traces --follow --where has_error",
    ),
)
def traces(
    where: Annotated[
        str | None, typer.Option(help="A condition over the columns of the view traces.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="Only of this project.")] = None,
    service: Annotated[str | None, typer.Option(help="Only this service.name.")] = None,
    session: Annotated[str | None, typer.Option(help="Only this session id.")] = None,
    since: Annotated[str | None, typer.Option(help="From then on: 1h, 2d or RFC 3339.")] = None,
    until: Annotated[str | None, typer.Option(help="Before then: 1h, 2d or RFC 3339.")] = None,
    limit: Limit = 20,
    cursor: Annotated[
        str | None, typer.Option(help="Continue where next_cursor of the last page says.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Tell of traces from now on, until Ctrl-C.")
    ] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """List traces, newest first, or tell of them as they come."""
    if follow:
        if since or until or cursor:
            fail("--follow tells from now on: leave out --since, --until and --cursor", WRONG_USE)
        with suppress(KeyboardInterrupt), connected(url) as client:
            _follow(
                client.trace_events(
                    where=where, project=project, service=service, session_id=session
                ),
                json=json,
            )
        return
    with connected(url) as client:
        page = client.traces(
            where=where,
            project=project,
            service=service,
            session_id=session,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )
    terminal.print_json(page) if json else show.print_traces(page)


def _follow(found: Iterable[TraceSummary], *, json: bool) -> None:
    """Print a line for each trace that begins or is finished."""
    for trace in found:
        if json:
            terminal.print_json(trace, on_one_line=True)
        else:
            show.print_event(trace)


@app.command(
    rich_help_panel=PANEL,
    epilog=example("tracejury sessions --since 1d", "tracejury sessions chat-17"),
)
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
            fail(f"{wrong[0]} chooses among sessions; leave it or the session id out", WRONG_USE)
        with connected(url) as client:
            detail = client.session(session, project=project, limit=limit)
        terminal.print_json(detail) if json else show.print_session(detail)
        return
    with connected(url) as client:
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
    terminal.print_json(page) if json else show.print_sessions(page)


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury explain 4bf92f3577b34da6a3ce929d0e0e4736", "tracejury explain chat-17"
    ),
)
def explain(
    target: Annotated[
        str, typer.Argument(metavar="TRACE|SESSION", help="A trace id, or a session id.")
    ],
    session: Annotated[
        bool, typer.Option("--session", help="It is a session id, even if it looks like a trace's.")
    ] = False,
    project: Annotated[
        str | None, typer.Option(help="The session's project; else the one active last.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Say why a trace or session was judged as it was, or why it was not."""
    is_trace = _TRACE_ID.fullmatch(target) is not None and not session
    if is_trace and project is not None:
        fail("--project is for a session; leave it out, or add --session", WRONG_USE)
    with connected(url) as client:
        explanation = (
            _explained(client, target)
            if is_trace
            else client.explain_session(target, project=project)
        )
    terminal.print_json(explanation) if json else show.print_explanation(explanation.lines)


def _explained(client: Client, target: str) -> Explanation | SessionExplanation:
    """The story of a trace; of the session where no trace, but a session has such an id."""
    try:
        return client.explain(target)
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            with suppress(ApiError):
                return client.explain_session(target)
        raise
