"""Looking at the condition of an alert, through the same door as any user's SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracejury_collector.alerting.messages import ROWS_SHOWN, summary_of_rows
from tracejury_collector.alerting.rating import found_in
from tracejury_collector.alerts import Found, Unknown
from tracejury_collector.config import AlertSpec, PassRateSettings
from tracejury_collector.errors import ConfigError, SqlRefused
from tracejury_collector.store.database import Database
from tracejury_collector.store.pass_rates import PassRateFilter, pass_rates
from tracejury_collector.store.query import run_select
from tracejury_collector.store.sqlguard import check_subselect

QUERY_S = 10.0
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look at a condition found, and the rows that say so."""

    found: Found | Unknown
    rows: Sequence[Mapping[str, Any]] = ()


def check_alerts(alerts: Mapping[str, AlertSpec]) -> None:
    """Check the conditions.

    Raises: ConfigError naming the alert whose condition cannot be used, the fault and the remedy.
    """
    for name, spec in alerts.items():
        if spec.sql is None:
            continue
        try:
            check_subselect(spec.sql, spec.sql, frozenset())
        except SqlRefused as error:
            raise ConfigError(f"alerts.{name}.sql: this query cannot be used: {error}") from error


def look(db: Database, spec: AlertSpec, now_ns: int) -> Look:
    """Return what the condition says now.

    Raises: Unavailable or duckdb.Error when the database cannot be used now.
    """
    if spec.sql is not None:
        return _look_by_sql(db, spec.sql)
    if spec.pass_rate is not None:
        return _look_at_rates(db, spec.pass_rate, now_ns)
    raise ValueError("an alert has either sql or pass_rate")


def _look_at_rates(db: Database, settings: PassRateSettings, now_ns: int) -> Look:
    wanted = PassRateFilter(
        since_ns=now_ns - int(settings.since * 1e9),
        rule=settings.rule,
        evaluator=settings.evaluator,
    )
    found, rows = found_in(pass_rates(db, wanted), settings)
    return Look(found=found, rows=rows)


def _look_by_sql(db: Database, sql: str) -> Look:
    try:
        result = run_select(db, sql, limit=ROWS_SHOWN, limit_s=QUERY_S, max_bytes=MAX_BYTES)
    except SqlRefused as error:
        return Look(found=Unknown(reason=f"the query failed: {error}"))
    names = [name for name, _ in result.columns]
    rows = [dict(zip(names, row, strict=True)) for row in result.rows()]
    # A first row that is too large to be shown is a row all the same.
    holds = bool(rows) or result.truncated
    return Look(
        found=Found(holds=holds, summary=summary_of_rows(rows, more=result.truncated)), rows=rows
    )
