"""Calls about what is stored."""

from __future__ import annotations

from tracejury.client.call import call
from tracejury.client.request import Request, get
from tracejury.rest import Storage


class StorageCalls:
    """What the database takes, and what is deleted from it."""

    @call
    def storage(self) -> Request[Storage]:
        """Return what the database takes on disk, by project."""
        return get("/api/storage", Storage)
