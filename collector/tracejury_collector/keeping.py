"""The thread that deletes what is to be deleted, beside the worker."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

import duckdb

from tracejury_collector.errors import Unavailable

log = logging.getLogger(__name__)

PAUSE_S = 1.0
_RETRY_S = 5.0

Step = Callable[[], bool]
"""Does a little; says whether more may follow at once."""


class Keeper:
    """Takes steps in turn until it is stopped; a step that fails only delays the others."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._wake = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set."""
        while not stop.is_set():
            self._wake.clear()
            took = [self._took(step) for step in self._steps]
            if not any(took):
                self._wake.wait(PAUSE_S)

    def wake(self) -> None:
        """Look at once whether there is something to do."""
        self._wake.set()

    def _took(self, step: Step) -> bool:
        try:
            return step()
        except (Unavailable, duckdb.Error) as error:
            log.warning("what is to be deleted cannot be deleted now: %s", error)
        except Exception:
            log.exception("deleting failed")
        self._wake.wait(_RETRY_S)
        return False
