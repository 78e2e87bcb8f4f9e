"""Calls about reading history again."""

from __future__ import annotations

from tracejury.client.call import call
from tracejury.client.request import Request, document, get, get_items, post, segment, send
from tracejury.rest import Renormalization

_PATH = "/api/renormalizations"


class RenormalizationCalls:
    """What the dialects in force make of spans that arrived under others."""

    @call
    def renormalize(
        self, *, since: str | None = None, until: str | None = None, dry_run: bool = False
    ) -> Request[Renormalization]:
        """Have spans that were received in that time read again; returns at once.

        Raises: ApiError (409) while another request runs.
        """
        body = {"since": since, "until": until, "dry_run": dry_run}
        return post(_PATH, Renormalization, body)

    @call
    def renormalization(self, request_id: str) -> Request[Renormalization]:
        """Return how far a request has come."""
        return get(f"{_PATH}/{segment(request_id)}", Renormalization)

    @call
    def renormalizations(self) -> Request[list[Renormalization]]:
        """Return the newest requests, newest first."""
        return get_items(_PATH, Renormalization)

    @call
    def cancel_renormalization(self, request_id: str) -> Request[Renormalization]:
        """End a request where it stands; what it has written stays."""
        path = f"{_PATH}/{segment(request_id)}"
        return send("DELETE", path, document(Renormalization))
