"""Calls about the audit log."""

from __future__ import annotations

from tracejury.client.call import call, every
from tracejury.client.request import Request, get
from tracejury.rest import AuditEntry, Page


class AuditCalls:
    """Who changed what."""

    @call
    def audit(
        self,
        *,
        key: str | None = None,
        outcome: str | None = None,
        since: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Request[Page[AuditEntry]]:
        """Return one page of changes, newest first; `key` is the id or name of a key."""
        params = {
            "key": key,
            "outcome": outcome,
            "since": since,
            "limit": limit,
            "cursor": cursor,
        }
        return get("/api/audit", Page[AuditEntry], params)

    all_audit = every(audit, AuditEntry)
