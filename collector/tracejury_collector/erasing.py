"""Deleting what is stored of an end user: across restarts, and until nothing is found any more."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from tracejury_collector.errors import Conflict, NotFound
from tracejury_collector.store import erasures
from tracejury_collector.store.database import Database
from tracejury_collector.store.erasures import Erased, Erasure

log = logging.getLogger(__name__)

PAGE_TRACES = 1000
MOST_WAITING = 100


class Eraser:
    """Works on one request after the other; `is_held` says that nothing may be deleted now."""

    def __init__(
        self, db: Database, now_ns: Callable[[], int], is_held: Callable[[], bool] = lambda: False
    ) -> None:
        self._db = db
        self._now_ns = now_ns
        self._is_held = is_held

    def count(self, user_id: str, project: str | None) -> Erased:
        """Return what a request would delete."""
        found = erasures.traces_of_user(self._db, user_id, project)
        sessions = erasures.sessions_of(self._db, found.ids)
        return Erased(traces=len(found.ids), unnamed=len(found.unnamed), sessions=len(sessions))

    def request(self, user_id: str, project: str | None) -> Erasure:
        """Write down a request, which is worked on from now on, across restarts.

        Raises: Conflict where too many wait; Unavailable.
        """
        if len(erasures.find(self._db, state="running")) >= MOST_WAITING:
            raise Conflict(f"{MOST_WAITING} erasures wait already; try again when some are done")
        erasure = Erasure(
            id=uuid.uuid4().hex,
            user_id=user_id,
            project=project,
            requested_at_ns=self._now_ns(),
            report=self.count(user_id, project),
        )
        erasures.insert(self._db, erasure)
        return erasure

    def find(self, erasure_id: str) -> Erasure:
        """Return a request.

        Raises: NotFound
        """
        found = erasures.find(self._db, erasure_id=erasure_id)
        if not found:
            raise NotFound(f"no erasure has the id {erasure_id[:100]!r}; list them")
        return found[0]

    def step(self) -> bool:
        """Work on the oldest request; return whether more may follow at once.

        Raises: Unavailable or duckdb.Error when the database cannot be used now.
        """
        running = erasures.find(self._db, state="running")
        if not running or self._is_held():
            return False
        self._step(running[-1])
        return True

    def _step(self, erasure: Erasure) -> None:
        """Delete a page of what there is; where there is nothing, end."""
        assert erasure.user_id is not None, "it is forgotten only when all is done"
        found = erasures.traces_of_user(self._db, erasure.user_id, erasure.project)
        page = [*found.unnamed, *found.named][:PAGE_TRACES]
        if not page:
            self._end(erasure)
            return
        # Sessions first: they are found by their traces.
        sessions = erasures.sessions_of(self._db, page)
        erasures.erase_sessions(self._db, sessions)
        erasures.erase_traces(self._db, page)
        erasures.close_sessions(self._db, sessions)
        deleted = erasure.report.deleted + len(page)
        erasures.note(self._db, erasure, replace(erasure.report, deleted=deleted))

    def _end(self, erasure: Erasure) -> None:
        """Take it out of the log as well, then forget whom it was about."""
        erasures.blank_unread(self._db)
        self._db.checkpoint().result()
        erasures.end(self._db, erasure, self._now_ns())
        log.info("erasure %s is done: %d traces", erasure.id, erasure.report.deleted)
