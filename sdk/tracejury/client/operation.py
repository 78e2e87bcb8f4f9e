"""Questions in SQL, dialects, health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejury.client.call import call
from tracejury.client.request import Request, get, get_items, post, send
from tracejury.client.tables import ARROW, SqlTable, sql_table
from tracejury.rest import DialectReport, Health, SqlResult, View


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
    def sql_table(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        limit: int = 100_000,
    ) -> Request[SqlTable]:
        """Return the rows of a read-only query as a table of Arrow; needs pyarrow."""
        body = {"sql": query, "params": params or [], "limit": limit}
        return send(
            "POST", "/api/sql", sql_table, body, headers={"accept": ARROW}, repeat="if_refused"
        )

    @call
    def views(self) -> Request[list[View]]:
        """Return the views that `sql` can read, with their columns."""
        return get_items("/api/views", View)

    @call
    def dialects(self, *, unread: int = 100) -> Request[DialectReport]:
        """Return the dialects, what was seen of each, and the `unread` most frequent unread."""
        return get("/api/dialects", DialectReport, {"unread": unread})

    @call
    def health(self) -> Request[Health]:
        """Return the state of the service once it is ready to be used."""
        return get("/readyz", Health)
