"""Calls about reading history again."""

from __future__ import annotations

from tracejury.client.connection import Connection, segment
from tracejury.rest import Page, Renormalization

_PATH = "/api/renormalizations"


class RenormalizationCalls(Connection):
    """What the dialects in force make of spans that arrived under others."""

    def renormalize(
        self, *, since: str | None = None, until: str | None = None, dry_run: bool = False
    ) -> Renormalization:
        """Have spans that were received in that time read again; returns at once.

        Raises: ApiError (409) while another request runs.
        """
        body = {"since": since, "until": until, "dry_run": dry_run}
        return self.parse(self.send("POST", _PATH, json=body), Renormalization)

    def renormalization(self, request_id: str) -> Renormalization:
        """Return how far a request has come."""
        return self.get(f"{_PATH}/{segment(request_id)}", Renormalization)

    def renormalizations(self) -> list[Renormalization]:
        """Return the newest requests, newest first."""
        return self.get(_PATH, Page[Renormalization]).items

    def cancel_renormalization(self, request_id: str) -> Renormalization:
        """End a request where it stands; what it has written stays."""
        answer = self.send("DELETE", f"{_PATH}/{segment(request_id)}")
        return self.parse(answer, Renormalization)
