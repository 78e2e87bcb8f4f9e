"""Calls about what is stored."""

from __future__ import annotations

from tracejury.client.call import call
from tracejury.client.request import Request, get, get_items, nothing, post, segment, send
from tracejury.rest import Compaction, Erasure, Snapshot, Storage


class StorageCalls:
    """What the database takes, what is deleted from it, and copies of it."""

    @call
    def storage(self) -> Request[Storage]:
        """Return what the database takes on disk, by project."""
        return get("/api/storage", Storage)

    @call
    def erase(
        self, user_id: str, *, project: str | None = None, dry_run: bool = False
    ) -> Request[Erasure]:
        """Have everything about the traces of an end user deleted; returns at once.

        `dry_run` only counts them.
        """
        body = {"user_id": user_id, "project": project, "dry_run": dry_run}
        return post("/api/erasures", Erasure, body)

    @call
    def erasure(self, erasure_id: str) -> Request[Erasure]:
        """Return how far an erasure has come."""
        return get(f"/api/erasures/{segment(erasure_id)}", Erasure)

    @call
    def erasures(self) -> Request[list[Erasure]]:
        """Return the newest erasures, newest first."""
        return get_items("/api/erasures", Erasure)

    @call
    def compact(self, *, max_pause_s: float = 6.0) -> Request[Compaction]:
        """Have the database file written anew; returns at once.

        Raises: ApiError (409) while another copy is written, history is read again, or the disk
        lacks room.
        """
        return post("/api/compactions", Compaction, {"max_pause_s": max_pause_s})

    @call
    def compaction(self, compaction_id: str) -> Request[Compaction]:
        """Return how far a compaction has come."""
        return get(f"/api/compactions/{segment(compaction_id)}", Compaction)

    @call
    def snapshot(self, name: str | None = None) -> Request[Snapshot]:
        """Have a consistent copy of the database written; returns at once.

        With a name it stays beside the database; else `fetch_snapshot` gets it.
        """
        return post("/api/snapshots", Snapshot, {"name": name})

    @call
    def find_snapshot(self, snapshot_id: str) -> Request[Snapshot]:
        """Return how far a snapshot has come."""
        return get(f"/api/snapshots/{segment(snapshot_id)}", Snapshot)

    @call
    def forget_snapshot(self, snapshot_id: str) -> Request[None]:
        """Have a snapshot removed that was to be fetched; one with a name stays."""
        return send("DELETE", f"/api/snapshots/{segment(snapshot_id)}", nothing)
