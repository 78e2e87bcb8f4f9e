"""Memory that DuckDB keeps for as long as a file is open: given back by opening the file anew.

Of every row group that was written or read since the opening, DuckDB keeps where each column lies,
whatever its memory limit says.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from tracejury_collector.heap import own_bytes
from tracejury_collector.store.database import Database

_log = logging.getLogger(__name__)

MARGIN_BYTES = 160 << 20
"""What the process may have grown by beside DuckDB's own limit before the file is opened anew."""
EVERY_S = 300.0
AGAIN_S = 5.0
"""How long after an attempt that readers stood in the way of the next one is made, at first; then
twice as long each time."""


class Renewal:
    """Opens the file anew whenever the process has grown by `grown_bytes`, at a moment when nobody
    reads; seldom enough for the pause not to matter.
    """

    def __init__(
        self,
        db: Database,
        grown_bytes: int,
        *,
        taken: Callable[[], int] = own_bytes,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = db
        self._grown_bytes = grown_bytes
        self._taken = taken
        self._now_s = now_s
        self._at_start = taken()
        self._due_s = now_s()
        self._again_s = AGAIN_S

    def step(self) -> bool:
        """Open the file anew if that is due; say whether it was done.

        Raises: Unavailable
        """
        before = self._taken()
        if before - self._at_start < self._grown_bytes or self._now_s() < self._due_s:
            return False
        began_s = time.monotonic()
        done = self._db.aside(lambda instance: instance.renew()).result()
        self._due_s = self._now_s() + (EVERY_S if done else self._again_s)
        self._again_s = AGAIN_S if done else min(2 * self._again_s, EVERY_S)
        if done:
            _log.info(
                "%s: opened anew in %.2f s, for the memory: %d MiB before, %d after",
                *(self._db.path, time.monotonic() - began_s, before >> 20, self._taken() >> 20),
            )
        return done
