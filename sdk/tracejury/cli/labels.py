"""Commands about labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import WRONG_USE, Json, Limit, Url, app, connected, example, fail
from tracejury.rest import Label, LabelInput, LabelsStored, Page

PANEL = "Labels"
_TRUTH = {"true": True, "false": False}


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury label 4bf92f3577b34da6a3ce929d0e0e4736 correct fail --comment 'wrong city'",
        "tracejury label 4bf92f3577b34da6a3ce929d0e0e4736 helpful 0.8 --span 00f067aa0ba902b7",
        "tracejury label chat-17 resolved true --session",
    ),
)
def label(
    target: Annotated[
        str, typer.Argument(metavar="TRACE", help="A trace id; with --session a session id.")
    ],
    name: Annotated[str, typer.Argument(help="What was asked about: correct, helpful, ….")],
    value: Annotated[
        str,
        typer.Argument(help="pass, fail, true, false, a number, or another word."),
    ],
    comment: Annotated[str, typer.Option(help="Why, in words.")] = "",
    author: Annotated[
        str, typer.Option(envvar="TRACEJURY_AUTHOR", help="Who says it.", show_default=False)
    ] = "",
    span: Annotated[str | None, typer.Option(help="A span of the trace.")] = None,
    session: Annotated[
        bool, typer.Option("--session", help="The target is a session, not a trace.")
    ] = False,
    project: Annotated[
        str, typer.Option(help="The session's project.", show_default="default")
    ] = "",
    label_id: Annotated[
        str | None,
        typer.Option("--id", help="An id of yours; used again it changes the label."),
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Say what you think of a trace, a span of it, or a session."""
    given = _input(
        {
            "session_id" if session else "trace_id": target,
            "span_id": span,
            "project": project,
            "name": name,
            "value": _value(value),
            "comment": comment,
            "author": author,
            "label_id": label_id,
        }
    )
    with connected(url) as client:
        stored = client.label(given)
    terminal.print_json(stored) if json else _print_stored(stored)


def _value(text: str) -> bool | float | str:
    """What the argument says: a truth value, a number, or a word."""
    plain = text.strip().lower()
    if plain in _TRUTH:
        return _TRUTH[plain]
    try:
        number = float(plain)
    except ValueError:
        return text
    if not math.isfinite(number):
        fail(f"VALUE: {text!r} is no finite number; give a number or a word", WRONG_USE)
    return number


def _input(fields: Mapping[str, Any]) -> LabelInput:
    try:
        return LabelInput.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        fail(f"{place}: {first['msg']}" if place else first["msg"], WRONG_USE)


def _print_stored(stored: LabelsStored) -> None:
    out = terminal.console()
    done = "changed" if stored.replaced else "was there already" if stored.unchanged else "stored"
    for item in stored.items:
        out.print(Text(f"label {terminal.one_line(item.label_id)} {done}"), soft_wrap=True)
    for target in stored.unknown:
        note = f"nothing of {terminal.one_line(target)} has arrived yet; the label waits for it"
        out.print(Text(note, style="yellow"), soft_wrap=True)


@app.command(
    rich_help_panel=PANEL,
    epilog=example("tracejury labels --name correct --verdict fail --since 7d"),
)
def labels(
    trace: Annotated[str | None, typer.Option(help="On this trace or a span of it.")] = None,
    session: Annotated[str | None, typer.Option(help="On this session itself.")] = None,
    name: Annotated[str | None, typer.Option(help="Of this name.")] = None,
    verdict: Annotated[str | None, typer.Option(help="pass, partial or fail.")] = None,
    author: Annotated[str | None, typer.Option(help="By this author.")] = None,
    since: Annotated[str | None, typer.Option(help="From then on: 1h, 2d or RFC 3339.")] = None,
    limit: Limit = 20,
    cursor: Annotated[
        str | None, typer.Option(help="Continue where next_cursor of the last page says.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List labels, newest first."""
    with connected(url) as client:
        page = client.labels(
            trace_id=trace,
            session_id=session,
            name=name,
            verdict=verdict,
            author=author,
            since=since,
            limit=limit,
            cursor=cursor,
        )
    terminal.print_json(page) if json else _print_labels(page)


def _print_labels(page: Page[Label]) -> None:
    out = terminal.console()
    if not page.items:
        out.print("no labels")
        return
    names = ("target", "age", "name", "said", "author", "comment", "id")
    terminal.print_rows(out, [(name, "left") for name in names], [_row(i) for i in page.items])
    if page.next_cursor:
        more = f"more: --cursor {terminal.visible(page.next_cursor)}"
        out.print(Text(more, style="dim"), soft_wrap=True)


def _row(item: Label) -> list[Any]:
    said = [item.label or item.verdict, None if item.value is None else f"{item.value:g}"]
    return [
        item.trace_id or item.session_id,
        terminal.age(item.created_at),
        item.name,
        " ".join(word for word in said if word) or None,
        item.author,
        item.comment,
        item.label_id,
    ]


@app.command(rich_help_panel=PANEL, epilog=example("tracejury unlabel my-row-17"))
def unlabel(
    label_id: Annotated[str, typer.Argument(metavar="LABEL", help="The id of a label.")],
    url: Url = None,
    json: Json = False,
) -> None:
    """Delete a label for good."""
    with connected(url) as client:
        client.delete_label(label_id)
    if json:
        terminal.print_json({"deleted": label_id})
    else:
        terminal.console().print(Text(f"label {terminal.one_line(label_id)} deleted"))
