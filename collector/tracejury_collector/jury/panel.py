"""The jury processes that are connected: heard, watched, ended when they are overdue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tracejury.result import Failure
from tracejury_collector.ipc import BrokenFrame, read_frame
from tracejury_collector.jury.faults import Faults, Record
from tracejury_collector.jury.jobs import Job
from tracejury_collector.jury.juror import Juror

log = logging.getLogger(__name__)

Hear = Callable[[Juror, Mapping[str, Any], bytes], None]


class Panel:
    """The connections of jury processes.

    `hear` takes what one answers. `answered_timeout_s` is the timeout of runs that were answered
    and still hold their process.
    """

    def __init__(
        self,
        *,
        faults: Faults,
        record: Record,
        put_back: Callable[[Iterable[Job]], None],
        hear: Hear,
        answered_timeout_s: float,
    ) -> None:
        self.jurors: set[Juror] = set()
        self.killed = 0
        self._faults = faults
        self._record = record
        self._put_back = put_back
        self._hear = hear
        self._answered_timeout_s = answered_timeout_s

    async def handle(
        self, hello: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve the connection of a jury process until it ends."""
        try:
            juror = Juror.welcome(hello, writer)
        except BrokenFrame as error:
            log.warning("%s", error)
            writer.close()
            return
        self.jurors.add(juror)
        try:
            while True:
                header, payload = await read_frame(reader)
                if header["op"] == "leaving":
                    juror.is_leaving = True
                else:
                    self._hear(juror, header, payload)
        except (asyncio.IncompleteReadError, OSError, ValueError, LookupError) as error:
            if not isinstance(error, asyncio.IncompleteReadError):
                log.warning("jury process %d: %r", juror.pid, error)
        except asyncio.CancelledError:
            self.jurors.discard(juror)
            juror.close()
            raise
        finally:
            self._lost(juror, self._faults.of_lost)

    def end_overdue(self, now_s: float) -> None:
        """Kill processes whose evaluator runs too long: it has failed, its neighbors wait again."""
        for juror in list(self.jurors):
            late = juror.overdue(now_s, self._answered_timeout_s)
            if late is None:
                continue
            for entry in late:
                timeout_s = entry[0].pairs[entry[1]].seat.timeout_s
                message = f"ran longer than {timeout_s:g} s and was stopped"
                self._record(entry, Failure(error_type="timeout", message=message), None)
                log.warning("evaluator %r %s", entry[1], message)
            self.killed += 1
            juror.kill()
            self._lost(juror, self._faults.of_ended if late else self._faults.of_lost)

    def _lost(self, juror: Juror, settle: Callable[[Juror], list[Job]]) -> None:
        """Take back what a process owes."""
        if juror.gone:
            return
        self.jurors.discard(juror)
        left = settle(juror)
        juror.close()
        self._put_back(left)
