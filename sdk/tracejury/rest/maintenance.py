"""Copies of the whole database, as the API shows them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracejury.rest.base import Document


class _Copy(Document):
    """One copy of the database, and how far it is."""

    id: str = Field(description="its id; a restart of the service forgets it")
    state: Literal["running", "done", "failed"] = Field(
        description="failed: the database is as it was"
    )
    requested_at: str = Field(description="when it was asked for")
    rows: int = Field(description="rows of the database when it was asked for")
    rows_copied: int = Field(description="rows copied so far; what came meanwhile counts too")
    bytes_before: int = Field(description="size of the database file when it was asked for")
    bytes_after: int | None = Field(
        default=None, description="size of the new file; null until it is there"
    )
    error: str = Field(default="", description="why it failed; else empty")


class Compaction(_Copy):
    """The database written anew, without the room that deleted rows leave."""

    max_pause_s: float = Field(description="longest time that nothing may be stored, in seconds")
    estimated_pause_s: float | None = Field(
        default=None, description="how long nothing is stored at most; null until it is known"
    )
    pause_s: float | None = Field(
        default=None, description="how long nothing was stored; null until it is over"
    )


class Snapshot(_Copy):
    """A consistent copy of the database."""

    name: str = Field(description="its name; empty: it is there to be fetched, and removed then")
    path: str = Field(description="its file, on the service's machine")
