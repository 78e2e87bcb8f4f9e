"""Whether pass rates are below the bound of an alert. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejury_collector.alerting.messages import summary_of_rows
from tracejury_collector.alerts import Found, Unknown
from tracejury_collector.config import PassRateSettings
from tracejury_collector.store.pass_rates import PassRate

Row = Mapping[str, Any]


def found_in(
    rates: Sequence[PassRate], settings: PassRateSettings
) -> tuple[Found | Unknown, list[Row]]:
    """Return what the rates say, and those that are below the bound, lowest first.

    Of an evaluator that changed, the version that decided last counts.
    """
    newest = _newest(rates)
    enough = [rate for rate in newest if rate.estimate and rate.judged >= settings.min_judged]
    if not enough:
        most = max((rate.judged for rate in newest), default=0)
        reason = f"{most} judged, fewer than {settings.min_judged}: too few to tell"
        return Unknown(reason=reason, is_fault=False), []
    below = [row for rate in enough if _counts(row := _row(rate), settings)]
    below.sort(key=lambda row: float(row["pass_rate"]))
    if below:
        return Found(holds=True, summary=summary_of_rows(below, more=False)), below
    least = min((_row(rate) for rate in enough), key=lambda row: float(row["pass_rate"]))
    summary = f"none of {len(enough)} below {settings.below:g}; the lowest is {_said(least)}"
    return Found(holds=False, summary=summary), []


def _newest(rates: Sequence[PassRate]) -> list[PassRate]:
    """Return the version of each evaluator under each rule that decided last."""
    found: dict[tuple[Any, Any], PassRate] = {}
    for rate in sorted(rates, key=lambda rate: (rate.last_decided_ns, rate.first_decided_ns)):
        found[rate.keys["rule"], rate.keys["evaluator"]] = rate
    return list(found.values())


def _counts(row: Row, settings: PassRateSettings) -> bool:
    bound = row["high"] if settings.confident else row["pass_rate"]
    return float(bound) < settings.below


def _row(rate: PassRate) -> Row:
    assert rate.estimate is not None
    share = rate.estimate.share
    return {
        "rule": rate.keys["rule"],
        "evaluator": rate.keys["evaluator"],
        "pass_rate": share.value,
        "low": share.low,
        "high": share.high,
        "judged": rate.judged,
    }


def _said(row: Row) -> str:
    interval = f"{row['low']:.3g} to {row['high']:.3g}"
    return f"{row['pass_rate']:.3g} ({interval}, {row['judged']} judged) of {row['evaluator']}"
