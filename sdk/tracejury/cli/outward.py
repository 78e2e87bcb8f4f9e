"""Commands about what the service tells others: alerts and exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import WRONG_USE, Json, Limit, Url, app, connected, example, fail
from tracejury.rest import Alert, AlertDelivery, AlertDetail, ExportState, Page
from tracejury.terminal import age, one_line

PANEL = "Operation"
_STYLES = {"ok": "green", "pending": "yellow", "firing": "red", "unknown": "dim"}
_DELIVERY_STYLES = {"delivered": "green", "waiting": "yellow", "failed": "red"}


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury alerts", "tracejury alerts quality", "tracejury alerts quality --test"
    ),
)
def alerts(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An alert: its state and its messages.")
    ] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Send a test message to the alert's webhook.")
    ] = False,
    limit: Limit = 20,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the alerts with their states; or show one with its messages."""
    if name is None and test:
        fail("--test needs the name of an alert", WRONG_USE)
    if name is None:
        with connected(url) as client:
            found = client.alerts()
        terminal.print_json(Page[Alert](items=found)) if json else _print_alerts(found)
    elif test:
        with connected(url) as client:
            delivery = client.test_alert(name)
        terminal.print_json(delivery) if json else _print_test(delivery)
    else:
        with connected(url) as client:
            detail = client.alert(name, limit=limit)
        terminal.print_json(detail) if json else _print_alert(detail)


@app.command(rich_help_panel=PANEL, epilog=example("tracejury exports"))
def exports(url: Url = None, json: Json = False) -> None:
    """Show where results are exported to, and how far that has come."""
    with connected(url) as client:
        found = client.exports()
    terminal.print_json(Page[ExportState](items=found)) if json else _print_exports(found)


def _print_alerts(found: Sequence[Alert]) -> None:
    out = terminal.console()
    if not found:
        out.print("no alerts; configure alerts:")
        return
    rows = [
        [alert.name, _status(alert), _ago(alert.since), _ago(alert.checked_at), _said(alert)]
        for alert in found
    ]
    names = ("alert", "status", "since", "looked", "found")
    terminal.print_rows(out, [(name, "left") for name in names], rows)


def _print_alert(alert: AlertDetail) -> None:
    out = terminal.console()
    out.print(Text.assemble(f"alert {one_line(alert.name)}: ", _status(alert)))
    facts = {
        "since": _ago(alert.since),
        "found": _said(alert),
        "condition": alert.condition,
        "looked": f"{_ago(alert.checked_at)}, every {alert.every_s:g} s",
        "told": alert.webhook or "nobody: it has no webhook",
    }
    for label, value in facts.items():
        out.print(Text(f"  {label:9} {one_line(value, 2000)}"), soft_wrap=True)
    if alert.deliveries:
        out.print()
        rows = [_delivery_row(delivery) for delivery in alert.deliveries]
        names = ("message", "created", "status", "attempts", "error")
        terminal.print_rows(out, [(name, "left") for name in names], rows)


def _print_test(delivery: AlertDelivery) -> None:
    line = f"a test message of {one_line(delivery.alert)} is on its way: {delivery.delivery_id}"
    hint = f"tracejury alerts {one_line(delivery.alert)} shows what becomes of it"
    terminal.console().print(Text(f"{line}; {hint}"), soft_wrap=True)


def _print_exports(found: Sequence[ExportState]) -> None:
    out = terminal.console()
    if not found:
        out.print("no exports; configure export.otlp.endpoint")
        return
    for state in found:
        out.print(Text(f"{state.name}: {one_line(state.endpoint)} ({state.protocol})"))
        out.print(Text(f"  sent      {state.sent}, last {_ago(state.last_sent_at)}"))
        out.print(Text(f"  waiting   {state.waiting}"))
        out.print(Text(f"  rejected  {state.rejected}"))
        out.print(Text(f"  left out  {state.dropped}"))
        if state.failing_since:
            line = f"  failing   since {_ago(state.failing_since)}"
            out.print(Text(line, style="red"))
        if state.last_error:
            out.print(Text(f"  error     {one_line(state.last_error, 500)}"), soft_wrap=True)


def _status(alert: Alert) -> Text:
    return Text(alert.status, style=_STYLES.get(alert.status, ""))


def _said(alert: Alert) -> str:
    return f"cannot be looked at: {alert.error}" if alert.error else alert.summary


def _delivery_row(delivery: AlertDelivery) -> list[object]:
    status = Text(delivery.status, style=_DELIVERY_STYLES.get(delivery.status, ""))
    created = _ago(delivery.created_at)
    return [delivery.event, created, status, delivery.attempts, delivery.error or ""]


def _ago(time: str | None) -> str:
    return f"{age(time)} ago" if time else "never"
