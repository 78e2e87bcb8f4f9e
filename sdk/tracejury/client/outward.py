"""Calls about what the service tells others: alerts and exports."""

from __future__ import annotations

from urllib.parse import quote

from tracejury.client.connection import Connection
from tracejury.rest import Alert, AlertDelivery, AlertDetail, ExportState, Page


class OutwardCalls(Connection):
    """Alerts and exports."""

    def alerts(self) -> list[Alert]:
        """Return the alerts with what their last looks found."""
        return self.get("/api/alerts", Page[Alert]).items

    def alert(self, name: str, *, limit: int = 20) -> AlertDetail:
        """Return one alert with its latest messages."""
        return self.get(f"/api/alerts/{quote(name, safe='')}", AlertDetail, {"limit": limit})

    def test_alert(self, name: str) -> AlertDelivery:
        """Have a test message sent to the alert's webhook; return it as it waits."""
        response = self.send("POST", f"/api/alerts/{quote(name, safe='')}/test")
        return self.parse(response, AlertDelivery)

    def exports(self) -> list[ExportState]:
        """Return the exports of results with how far they have come."""
        return self.get("/api/exports", Page[ExportState]).items
