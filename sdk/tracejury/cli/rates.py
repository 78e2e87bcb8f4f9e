"""Commands that show what passes, and how far evaluators and labels agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import Json, Limit, Url, app, connected, example
from tracejury.rest import Agreement, Page, PassRate, PassRates, ShareEstimate
from tracejury.terminal import Justify

PANEL = "Judging"
_KEYS = ("rule", "evaluator", "project", "service", "model", "agent", "bucket")
_SHORT = 8
_SHOWN_TRACES = 5

Since = Annotated[str | None, typer.Option(help="From then on: 1h, 2d or RFC 3339.")]
Until = Annotated[str | None, typer.Option(help="Before then: 1h, 2d or RFC 3339.")]
Evaluator = Annotated[str | None, typer.Option(help="Only this evaluator.")]


@app.command(
    "pass-rates",
    rich_help_panel=PANEL,
    epilog=example("tracejury pass-rates --since 1d --by service", "tracejury pass-rates --json"),
)
def pass_rates(
    by: Annotated[
        str,
        typer.Option(
            help="What divides the rates besides rule and evaluator, with commas between: "
            "project, service, model, agent, bucket."
        ),
    ] = "",
    since: Since = None,
    until: Until = None,
    bucket: Annotated[
        str | None, typer.Option(help="Length of a time bucket: 15m, 1h, 1d.", show_default="1h")
    ] = None,
    rule: Annotated[str | None, typer.Option(help="Only this rule.")] = None,
    evaluator: Evaluator = None,
    service: Annotated[str | None, typer.Option(help="Only this service.name.")] = None,
    project: Annotated[str | None, typer.Option(help="Only this project.")] = None,
    limit: Limit = 1000,
    url: Url = None,
    json: Json = False,
) -> None:
    """Estimate how much of the live traffic passes, with 95 % intervals."""
    with connected(url) as client:
        found = client.pass_rates(
            by=[name for name in by.split(",") if name.strip()],
            since=since,
            until=until,
            bucket=bucket,
            rule=rule,
            evaluator=evaluator,
            service=service,
            project=project,
            limit=limit,
        )
    terminal.print_json(found) if json else _print_rates(found)


@app.command(
    rich_help_panel=PANEL,
    epilog=example("tracejury agreement --evaluator polite --label helpful"),
)
def agreement(
    evaluator: Evaluator = None,
    label: Annotated[str | None, typer.Option(help="Only labels of this name.")] = None,
    since: Since = None,
    until: Until = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Compare evaluators with labels on the traces that have both."""
    with connected(url) as client:
        found = client.agreement(evaluator=evaluator, label=label, since=since, until=until)
    terminal.print_json(Page[Agreement](items=found)) if json else _print_agreement(found)


def _print_rates(found: PassRates) -> None:
    out = terminal.console()
    if not found.items:
        out.print("no pass rates: no rule has decided on a live trace")
        return
    keys = [key for key in _KEYS if any(key in rate.model_fields_set for rate in found.items)]
    keys += ["version"] if _has_versions(found.items, keys) else []
    columns: list[tuple[str, Justify]] = [(key, "left") for key in keys]
    columns += [("pass rate", "right"), ("95 %", "right"), ("judged", "right")]
    columns += [("traffic", "right"), ("excluded", "right")]
    terminal.print_rows(out, columns, [_rate_row(rate, keys) for rate in found.items])
    if found.truncated:
        out.print(Text("there are more; raise --limit, or choose by --rule", style="dim"))


def _has_versions(rates: Sequence[PassRate], keys: Sequence[str]) -> bool:
    """Whether some rates differ by nothing but the version of the evaluator."""
    return len({tuple(getattr(rate, key) for key in keys) for rate in rates}) < len(rates)


def _rate_row(rate: PassRate, keys: Sequence[str]) -> list[str]:
    interval = (
        "" if rate.low is None or rate.high is None else f"{_pct(rate.low)}–{_pct(rate.high)}"
    )
    shown = [
        (rate.fingerprint or "")[:_SHORT] if key == "version" else _named(getattr(rate, key))
        for key in keys
    ]
    excluded = (
        f"{rate.excluded.count} ({_pct(rate.excluded.share)} %)" if rate.excluded.count else ""
    )
    return [
        *shown,
        "" if rate.pass_rate is None else f"{_pct(rate.pass_rate)} %",
        interval,
        str(rate.judged),
        f"{rate.traffic:.0f}",
        excluded,
    ]


def _print_agreement(found: Iterable[Agreement]) -> None:
    out = terminal.console()
    empty = True
    for item in found:
        for line in _agreement_lines(item):
            out.print(Text(terminal.visible(line)), soft_wrap=True)
        empty = False
    if empty:
        out.print("no trace has both a result and a label with a verdict or score")


def _agreement_lines(item: Agreement) -> Iterable[str]:
    version = item.fingerprint[:_SHORT]
    yield f"{item.evaluator} ({version}) by label {item.label!r}: {item.n} traces"
    kappa = "not defined" if item.kappa is None else f"{item.kappa:.2f}"
    yield f"  agrees on {_interval(item.agreed)}, kappa {kappa}"
    c = item.confusion
    yield (
        f"  what it finds: precision {_interval(item.precision)}, recall {_interval(item.recall)} "
        f"(rightly found {c.rightly_found}, wrongly {c.wrongly_found}, missed {c.missed})"
    )
    for rate in item.pass_rates:
        corrected = _interval(rate.corrected) if rate.corrected else f"unknown: {rate.reason}"
        yield f"  rule {rate.rule!r}: pass rate {_interval(rate.judged)}, corrected {corrected}"
    if item.differing:
        more = item.differing_count - _SHOWN_TRACES
        traces = " ".join(item.differing[:_SHOWN_TRACES])
        yield f"  differs on {traces}{f' and {more} more' if more > 0 else ''}"


def _interval(share: ShareEstimate | None) -> str:
    if share is None:
        return "not known"
    return f"{_pct(share.value)} % ({_pct(share.low)}–{_pct(share.high)})"


def _named(value: str | None) -> str:
    return "-" if value is None else value


def _pct(share: float) -> str:
    return f"{share * 100:.1f}"
