"""The export: results are sent in the order of their commits, and marked when they were answered.

A kill between an answer and its mark sends that one request again; nothing is ever left out
but what the receiver refuses, or what no longer fits into the backlog, and both are counted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace

import duckdb

from tracejury_collector.config import OtlpExportSettings
from tracejury_collector.errors import Unavailable
from tracejury_collector.export.answers import Accepted, Away, Refused, pause_s
from tracejury_collector.export.events import request_of
from tracejury_collector.export.transport import Transport
from tracejury_collector.store.database import Database
from tracejury_collector.store.exports import (
    BEGINNING,
    ExportMark,
    ExportPage,
    MarkWrite,
    Wanted,
    count_after,
    find_mark,
    last_position,
    next_results,
    position_before,
)

log = logging.getLogger(__name__)

NAME = "otlp"
MAX_REQUEST_BYTES = 3 << 20
"""Receivers of gRPC take 4 MiB unless told otherwise."""

_RETRY_S = 1.0


class Exporter:
    """Sends the results that an OTLP receiver has not answered for yet.

    A request that is refused is halved until the record stands alone that is refused, which is
    left out if the receiver takes an empty request: so a receiver that refuses everything stops
    the export instead of emptying it.
    """

    def __init__(
        self,
        db: Database,
        settings: OtlpExportSettings,
        transport: Transport,
        version: str,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._db = db
        self._settings = settings
        self._transport = transport
        self._version = version
        self._now_ns = now_ns
        self._limit = settings.batch
        self._failures = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Send what comes until `stop` is set; the request in flight is finished first."""
        while not stop.is_set():
            pause = await self._step_or_wait()
            try:
                await asyncio.wait_for(stop.wait(), pause)
            except TimeoutError:
                continue

    async def _step_or_wait(self) -> float:
        try:
            return await self.step()
        except (Unavailable, duckdb.Error, OSError) as error:
            log.warning("results cannot be exported now: %s", error)
        except Exception:
            log.exception("a batch of results cannot be exported")
            self._failures += 1
            return pause_s(self._failures, None)
        return _RETRY_S

    async def step(self) -> float:
        """Send one request at most; return how long to wait before the next one, in seconds.

        Raises: Unavailable or duckdb.Error when the database cannot be used now.
        """
        mark = await asyncio.to_thread(self._mark)
        page = await asyncio.to_thread(self._next, mark)
        if not page.results:
            if page.upto > mark.position:
                await self._write(replace(mark, position=page.upto))
            return self._settings.tick
        return await self._send(mark, page)

    async def _send(self, mark: ExportMark, page: ExportPage) -> float:
        request = request_of(page.results, self._version)
        count = len(page.results)
        if count > 1 and request.ByteSize() > MAX_REQUEST_BYTES:
            return self._halve(count)
        answer = await self._transport.send(request)
        if isinstance(answer, Refused) and count > 1:
            return self._halve(count)
        if isinstance(answer, Refused):
            answer = await self._blame(answer)
        if isinstance(answer, Away):
            return await self._wait(mark, answer)
        return await self._advance(mark, page, answer)

    async def _blame(self, refused: Refused) -> Accepted | Away:
        """Say whether it is the record that is refused, or everything."""
        if isinstance(await self._transport.send(request_of([], self._version)), Accepted):
            return Accepted(rejected=1, message=refused.reason)
        return Away(reason=f"{refused.reason}; it refuses an empty request too: is it an OTLP one?")

    def _halve(self, count: int) -> float:
        self._limit = count // 2
        return 0.0

    async def _advance(self, mark: ExportMark, page: ExportPage, answer: Accepted) -> float:
        count = len(page.results)
        rejected = min(answer.rejected, count)
        if rejected:
            log.warning("%d of %d exported results refused: %s", rejected, count, answer.message)
        self._failures = 0
        full = count == self._limit
        self._limit = min(self._settings.batch, max(1, self._limit) * 2)
        await self._write(
            replace(
                mark,
                position=page.upto,
                sent=mark.sent + count - rejected,
                rejected=mark.rejected + rejected,
                last_sent_at_ns=self._now_ns(),
                failing_since_ns=None,
                last_error=answer.message if rejected else _standing_error(mark),
            )
        )
        return 0.0 if full else self._settings.tick

    async def _wait(self, mark: ExportMark, answer: Away) -> float:
        self._failures += 1
        pause = pause_s(self._failures, answer.wait_s)
        log.warning("results wait to be exported: %s; again in %.0f s", answer.reason, pause)
        since_ns = mark.failing_since_ns or self._now_ns()
        await self._write(replace(mark, failing_since_ns=since_ns, last_error=answer.reason))
        return pause

    def _mark(self) -> ExportMark:
        """Return how far the export has come, what no longer fits into the backlog left out."""
        mark = find_mark(self._db, NAME)
        if mark is None:
            return self._begin()
        oldest = position_before(self._db, self._settings.backlog)
        if oldest <= mark.position:
            return mark
        dropped = count_after(self._db, mark.position) - self._settings.backlog
        log.error("%d results are left out of the export: the backlog is full", dropped)
        mark = replace(mark, position=oldest, dropped=mark.dropped + dropped)
        self._db.write(MarkWrite(mark)).result()
        return mark

    def _begin(self) -> ExportMark:
        now = self._settings.start == "now"
        mark = ExportMark(name=NAME, position=last_position(self._db) if now else BEGINNING)
        self._db.write(MarkWrite(mark)).result()
        return mark

    def _next(self, mark: ExportMark) -> ExportPage:
        wanted = Wanted(
            after=mark.position,
            limit=self._limit,
            outcomes=self._settings.outcomes,
            rules=self._settings.rules,
            characters=self._settings.explanation_characters,
        )
        return next_results(self._db, wanted)

    async def _write(self, mark: ExportMark) -> None:
        await asyncio.wrap_future(self._db.write(MarkWrite(mark)))


def _standing_error(mark: ExportMark) -> str | None:
    """Return why records were rejected last; what kept all of them waiting is over."""
    return None if mark.failing_since_ns else mark.last_error
