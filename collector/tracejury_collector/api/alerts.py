"""Alerts: what their last looks found, and what was told to whom."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest import Alert, AlertDelivery, AlertDetail, Page
from tracejury.view import rfc3339
from tracejury_collector.alerting.watching import delivery_of
from tracejury_collector.alerts import AlertState
from tracejury_collector.api.dependencies import MAX_PAGE, Context, problems
from tracejury_collector.config import AlertSpec, PassRateSettings
from tracejury_collector.errors import MalformedRequest, NotFound
from tracejury_collector.store.alerts import (
    DeliveryWrite,
    alert_states,
    deliveries_of,
    last_deliveries,
)

router = APIRouter(tags=["alerts"])
Name = Annotated[str, Path(max_length=100, description="the alert's name")]
_WRITE_S = 10.0


class DeliveryQuery(BaseModel):
    """How many messages to show; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=20, ge=1, le=MAX_PAGE, description="most messages")


@router.get("/api/alerts", responses=problems())
def list_alerts(context: Context) -> Page[Alert]:
    """List the configured alerts with what their last looks found."""
    states, last = alert_states(context.db), last_deliveries(context.db)
    return Page(
        items=[
            Alert(**_alert(name, spec, states.get(name)), last_delivery=_delivery(last.get(name)))
            for name, spec in context.config.alerts.items()
        ]
    )


@router.get("/api/alerts/{name}", responses=problems(404, 422))
def get_alert(
    context: Context, name: Name, query: Annotated[DeliveryQuery, Query()]
) -> AlertDetail:
    """Return one alert with its latest messages, newest first."""
    spec = _known(context, name)
    rows = deliveries_of(context.db, name, query.limit)
    found = [delivery for row in rows if (delivery := _delivery(row))]
    return AlertDetail(
        **_alert(name, spec, alert_states(context.db).get(name)),
        last_delivery=found[0] if found else None,
        deliveries=found,
    )


@router.post("/api/alerts/{name}/test", status_code=202, responses=problems(400, 404))
def test_alert(context: Context, name: Name) -> AlertDelivery:
    """Have a test message sent to the alert's webhook, whatever its state."""
    spec = _known(context, name)
    if spec.webhook is None:
        raise MalformedRequest(f"alert {name!r} has no webhook; configure alerts.{name}.webhook")
    now_ns = time.time_ns()
    state = alert_states(context.db).get(name) or AlertState(alert=name, since_ns=now_ns)
    delivery = delivery_of(state, spec, "test", None, now_ns)
    context.db.write(DeliveryWrite(delivery)).result(_WRITE_S)
    return AlertDelivery(
        delivery_id=delivery.delivery_id,
        alert=name,
        event="test",
        summary=delivery.summary,
        status="waiting",
        created_at=rfc3339(now_ns) or "",
    )


def place_of(url: str) -> str:
    """Return scheme and host of a URL: the rest may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _known(context: Context, name: str) -> AlertSpec:
    spec = context.config.alerts.get(name)
    if spec is None:
        raise NotFound(f"no alert is named {name!r}; GET /api/alerts lists them")
    return spec


def _alert(name: str, spec: AlertSpec, state: AlertState | None) -> dict[str, Any]:
    status: Literal["ok", "pending", "firing", "unknown"] = "unknown"
    if state is not None and (state.checked_at_ns is not None):
        status = state.status
    return {
        "name": name,
        "status": status,
        "since": _time(state.since_ns if state else None),
        "checked_at": _time(state.checked_at_ns if state else None),
        "notified_at": _time(state.notified_at_ns if state else None),
        "summary": state.summary if state else "",
        "error": state.error if state else None,
        "description": spec.description or "",
        "condition": spec.sql or _bound(spec.pass_rate),
        "every_s": spec.every,
        "for_s": spec.hold,
        "cooldown_s": spec.cooldown,
        "webhook": place_of(spec.webhook.url) if spec.webhook else None,
    }


def _bound(settings: PassRateSettings | None) -> str:
    """Return the bound of a pass rate in words."""
    if settings is None:
        return ""
    of = [f"{key} {value}" for key in ("rule", "evaluator") if (value := getattr(settings, key))]
    about = f" of {', '.join(of)}" if of else ""
    surely = " for sure" if settings.confident else ""
    least = f"{settings.min_judged} judged in {settings.since:g} s"
    return f"pass rate{about}{surely} below {settings.below:g}, with at least {least}"


def _delivery(row: dict[str, Any] | None) -> AlertDelivery | None:
    if row is None:
        return None
    times = {name: _time(row[f"{name}_ns"]) for name in ("created_at", "finished_at")}
    kept = {name: value for name, value in row.items() if not name.endswith("_ns")}
    return AlertDelivery.model_validate(kept | times)


def _time(time_ns: int | None) -> str | None:
    return None if time_ns is None else rfc3339(time_ns)
