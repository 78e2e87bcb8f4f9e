"""Alerts and exports as the API shows them; URLs without what may be a secret."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracejury.rest.base import Document


class AlertDelivery(Document):
    """A message of an alert, and what became of it."""

    delivery_id: str = Field(description="the id in the message: the same at each attempt")
    alert: str
    event: Literal["firing", "reminder", "resolved", "test"]
    summary: str = ""
    status: Literal["waiting", "delivered", "failed"]
    attempts: int = 0
    http_status: int | None = Field(default=None, description="what the last attempt was answered")
    error: str | None = Field(default=None, description="why the last attempt failed")
    created_at: str
    finished_at: str | None = Field(default=None, description="when it was delivered or given up")


class Alert(Document):
    """An alert, and what its last look found."""

    name: str
    status: Literal["ok", "pending", "firing", "unknown"] = Field(
        description="unknown: it was not looked at yet"
    )
    since: str | None = Field(default=None, description="when it began to hold, or ceased to")
    checked_at: str | None = None
    notified_at: str | None = Field(default=None, description="when it was last told that it fires")
    summary: str = Field(default="", description="what the last look found, in a line")
    error: str | None = Field(default=None, description="why the last look told nothing")
    description: str = ""
    condition: str = Field(description="the SQL, or the bound of the pass rate")
    every_s: float
    for_s: float
    cooldown_s: float
    webhook: str | None = Field(default=None, description="scheme and host of who is told")
    last_delivery: AlertDelivery | None = None


class AlertDetail(Alert):
    """An alert with its latest messages, newest first."""

    deliveries: list[AlertDelivery] = []


class ExportState(Document):
    """An export of results, and how far it has come; counts are of results."""

    name: str
    endpoint: str = Field(description="scheme and host of the receiver")
    protocol: Literal["http/protobuf", "grpc"]
    sent: int = 0
    rejected: int = Field(default=0, description="refused by the receiver for good")
    dropped: int = Field(default=0, description="left out of a backlog that was too long")
    waiting: int = Field(default=0, description="not sent yet, wanted or not")
    last_sent_at: str | None = None
    failing_since: str | None = Field(default=None, description="since when nothing is taken")
    last_error: str | None = None
