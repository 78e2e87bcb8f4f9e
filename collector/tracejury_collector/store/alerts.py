"""What is known of alerts, and their messages on the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import orjson

from tracejury_collector.alerts import AlertState
from tracejury_collector.store.database import Database
from tracejury_collector.store.statements import statement

KEPT_DELIVERIES = 10_000
ERROR_CHARACTERS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDelivery:
    """A message that is to be sent."""

    delivery_id: str
    alert: str
    event: str
    summary: str
    body: Mapping[str, Any]
    created_at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A message on its way: the oldest of its alert."""

    delivery_id: str
    alert: str
    body: bytes
    attempts: int
    created_at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """What came of posting a message; `next_attempt_at_ns` None: it is finished."""

    delivery_id: str
    status: str
    attempts: int
    http_status: int | None
    error: str | None
    at_ns: int
    next_attempt_at_ns: int | None


def alert_states(db: Database) -> dict[str, AlertState]:
    """Return what is known of each alert by name."""
    return {row["alert"]: AlertState(**row) for row in db.rows("list_alerts")}


def waiting_deliveries(db: Database, now_ns: int) -> list[Waiting]:
    """Return the oldest unsent message of each alert, if it is due."""
    rows = db.rows("waiting_deliveries", {"now_ns": now_ns})
    return [Waiting(**{**row, "body": row["body"].encode()}) for row in rows]


def deliveries_of(db: Database, alert: str | None, limit: int) -> list[dict[str, Any]]:
    """Return the newest messages, of one alert or of all."""
    return db.rows("list_deliveries", {"alert": alert, "limit": limit})


def last_deliveries(db: Database) -> dict[str, dict[str, Any]]:
    """Return the newest message of each alert that has one."""
    return {row["alert"]: row for row in db.rows("last_deliveries")}


def count_deliveries(db: Database) -> dict[str, int]:
    """Return how many messages there are by status."""
    return {row["status"]: row["deliveries"] for row in db.rows("count_deliveries")}


class AlertWrite:
    """The write of what a look changed, and of the message about it."""

    def __init__(self, state: AlertState, delivery: NewDelivery | None) -> None:
        self._row = (
            state.alert,
            state.status,
            state.since_ns,
            state.checked_at_ns,
            state.notified_at_ns,
            state.announced,
            state.summary,
            state.error[:ERROR_CHARACTERS] if state.error else None,
        )
        self._deliver = DeliveryWrite(delivery) if delivery else None

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(statement("delete_alert"), [self._row[0]])
        connection.execute(statement("insert_alert"), self._row)
        if self._deliver:
            self._deliver(connection)


class DeliveryWrite:
    """The write of a message that is to be sent; the oldest finished ones are forgotten."""

    def __init__(self, delivery: NewDelivery) -> None:
        self._row = (
            delivery.delivery_id,
            delivery.alert,
            delivery.event,
            delivery.summary,
            orjson.dumps(delivery.body).decode(),
            delivery.created_at_ns,
            delivery.created_at_ns,
        )

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(statement("insert_delivery"), self._row)
        connection.execute(statement("forget_deliveries"), [KEPT_DELIVERIES])


class AttemptWrite:
    """The write of what came of posting a message."""

    def __init__(self, attempted: Attempted) -> None:
        finished_ns = attempted.at_ns if attempted.next_attempt_at_ns is None else None
        self._row = {
            "delivery_id": attempted.delivery_id,
            "status": attempted.status,
            "attempts": attempted.attempts,
            "http_status": attempted.http_status,
            "error": attempted.error[:ERROR_CHARACTERS] if attempted.error else None,
            "next_ns": attempted.next_attempt_at_ns,
            "finished_ns": finished_ns,
        }

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(statement("update_delivery"), self._row)


class ForgetWrite:
    """The write that forgets alerts that are no longer configured, and gives up their messages."""

    def __init__(self, configured: Sequence[str], told: Sequence[str], now_ns: int) -> None:
        """`configured` are the alerts there are, `told` those of them that have a webhook."""
        self._configured = orjson.dumps(configured).decode()
        self._told = {"told": orjson.dumps(told).decode(), "now_ns": now_ns}

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(statement("forget_alerts"), [self._configured])
        connection.execute(statement("give_up_deliveries"), self._told)
