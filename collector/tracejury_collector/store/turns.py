"""Times of decisions, in the order of their commits: whoever reads jobs goes by them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import last_decided_ns


class Turns:
    """Gives one writer of decisions after the other a time that is later than all before."""

    def __init__(self, db: Database) -> None:
        with db.read() as cursor:
            self._last_ns = last_decided_ns(cursor)
        self._lock = threading.Lock()

    @contextmanager
    def take(self, now_ns: int) -> Iterator[int]:
        """Give the time of the decisions that are written, and committed, within the context."""
        with self._lock:
            self._last_ns = max(now_ns, self._last_ns + 1)
            yield self._last_ns
