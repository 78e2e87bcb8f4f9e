"""Questions in SQL, dialects, health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejury.client.call import call
from tracejury.client.request import Request, get, post
from tracejury.rest import DialectReport, Health, SqlResult


class OperationCalls:
    """The service and its data as a whole."""

    @call
    def sql(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        limit: int = 1000,
    ) -> Request[SqlResult]:
        """Return the rows of a read-only query over the stable views."""
        body = {"sql": query, "params": params or [], "limit": limit}
        return post("/api/sql", SqlResult, body, repeat="if_refused")

    @call
    def dialects(self, *, unread: int = 100) -> Request[DialectReport]:
        """Return the dialects, what was seen of each, and the `unread` most frequent unread."""
        return get("/api/dialects", DialectReport, {"unread": unread})

    @call
    def health(self) -> Request[Health]:
        """Return the state of the service once it is ready to be used."""
        return get("/readyz", Health)
