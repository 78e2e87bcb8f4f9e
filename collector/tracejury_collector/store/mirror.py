"""A copy of the whole database that is brought up to date while the service works."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import nullcontext

import duckdb

from tracejury_collector.config import StorageSettings
from tracejury_collector.store.copying import Copy, Told
from tracejury_collector.store.database import Database
from tracejury_collector.store.following import (
    BY_TRACE,
    GROWING,
    Finished,
    Grown,
    Read,
    supersede_sessions,
)

log = logging.getLogger(__name__)

ROUNDS = 20
LITTLE_S = 0.5
SHRINKING = 0.8
"""Of what the round before took: a round that takes more has not come nearer."""


class Mirror:
    """The copy, and how far it has come."""

    def __init__(self, db: Database, path: str, settings: StorageSettings, told: Told) -> None:
        self._db = db
        self.copy = Copy(path, settings, told)
        self._finished = Finished()
        self._grown = [Grown(table) for table in GROWING]

    def approach(self) -> None:
        """Copy what is there, then what has come since, until that is little or gets no less.

        Raises: Unavailable or duckdb.Error, and whatever `told` raises.
        """
        needs_s = self.catch_up()
        for _ in range(ROUNDS):
            before_s, needs_s = needs_s, self.catch_up()
            if needs_s < LITTLE_S or needs_s > before_s * SHRINKING:
                return

    def catch_up(self) -> float:
        """Copy what has come about since the last time; return how long that took, in seconds."""
        started_s, before = time.monotonic(), self.copy.taken
        self._follow(self._db.read)
        took_s = time.monotonic() - started_s
        log.info("copied %d rows more in %.1f s", self.copy.taken - before, took_s)
        return took_s

    def make_equal(
        self, source: duckdb.DuckDBPyConnection, check: Callable[[], None] = lambda: None
    ) -> None:
        """Make the copy equal to what `source` sees, which must not change meanwhile.

        Raises: CopyFailed where something is missing; whatever `check` raises, which is called now
        and then.
        """
        self._follow(lambda: nullcontext(source))
        check()
        with self.copy.at_once():
            for grown in self._grown:
                grown.finish(source, self.copy)
            for table in self._rest():
                self.copy.drop(table, "true")
                self.copy.take(source, table)
                check()
        self.copy.check(source)

    def _follow(self, read: Read) -> None:
        """Take what there is at this moment."""
        with read() as source:
            lasts = [grown.last(source) for grown in self._grown]
            last = self._finished.last(source)  # later: no result is of a revision that is left
        self._finished.follow(read, self.copy, last)
        for grown, end in zip(self._grown, lasts, strict=True):
            grown.follow(read, self.copy, end)
        with read() as source:
            supersede_sessions(source, self.copy)

    def _rest(self) -> list[str]:
        """Return the tables that are copied whole at the end."""
        followed = {*BY_TRACE, *(table.name for table in GROWING)}
        return [name for name in self.copy.tables() if name not in followed]
