"""Questions in SQL, imports, dialects, health."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracejury.client.connection import Connection
from tracejury.otlp_files import read_requests
from tracejury.rest import (
    DialectReport,
    Health,
    Imported,
    SqlResult,
)

MESSAGES_KEPT = 20


class OperationCalls(Connection):
    """The service and its data as a whole."""

    def sql(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        limit: int = 1000,
    ) -> SqlResult:
        """Return the rows of a read-only query over the stable views."""
        body = {"sql": query, "params": params or [], "limit": limit}
        return self.parse(self.send("POST", "/api/sql", json=body), SqlResult)

    def import_file(
        self,
        path: Path,
        *,
        signal: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Imported:
        """Return what became of the spans in an OTLP file: protobuf, JSON or JSON lines.

        `signal` ("traces" or "logs") is needed for protobuf files of logs only.
        `progress` is told the bytes done after each request.

        Raises: OSError where the file cannot be read.
        """
        total = Imported(received=0, stored=0)
        for content_type, body in read_requests(path):
            response = self.send(
                "POST",
                "/api/traces/import",
                params={"signal": signal} if signal else None,
                content=body,
                headers={"content-type": content_type},
            )
            total = _add(total, self.parse(response, Imported))
            if progress:
                progress(len(body))
        return total

    def dialects(self, *, unread: int = 100) -> DialectReport:
        """Return the dialects, what was seen of each, and the `unread` most frequent unread."""
        return self.get("/api/dialects", DialectReport, {"unread": unread})

    def health(self) -> Health:
        """Return the state of the service once it is ready to be used."""
        return self.get("/readyz", Health)


def _add(a: Imported, b: Imported) -> Imported:
    return Imported(
        received=a.received + b.received,
        stored=a.stored + b.stored,
        duplicate=a.duplicate + b.duplicate,
        rejected=a.rejected + b.rejected,
        messages=(a.messages + b.messages)[:MESSAGES_KEPT],
    )
