"""Calls about what the service tells others: alerts and exports."""

from __future__ import annotations

from tracejury.client.call import call
from tracejury.client.request import Request, get, get_items, post, segment
from tracejury.rest import Alert, AlertDelivery, AlertDetail, ExportState


class OutwardCalls:
    """Alerts and exports."""

    @call
    def alerts(self) -> Request[list[Alert]]:
        """Return the alerts with what their last looks found."""
        return get_items("/api/alerts", Alert)

    @call
    def alert(self, name: str, *, limit: int = 20) -> Request[AlertDetail]:
        """Return one alert with its latest messages."""
        return get(f"/api/alerts/{segment(name)}", AlertDetail, {"limit": limit})

    @call
    def test_alert(self, name: str) -> Request[AlertDelivery]:
        """Have a test message sent to the alert's webhook; return it as it waits."""
        return post(f"/api/alerts/{segment(name)}/test", AlertDelivery)

    @call
    def exports(self) -> Request[list[ExportState]]:
        """Return the exports of results with how far they have come."""
        return get_items("/api/exports", ExportState)
