"""Requests that were acknowledged and that the store never takes: kept beside the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from tracejury.errors import TracejuryError
from tracejury_collector.errors import Unavailable
from tracejury_collector.files import keep_aside
from tracejury_collector.receive import segments
from tracejury_collector.receive.batches import HEADER
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.segments import Kept
from tracejury_collector.receive.store_client import StoreClient

Reason = Literal["the store cannot hold it", "the store dies of it"]

_log = logging.getLogger(__name__)

_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0


@dataclass(frozen=True, kw_only=True)
class _Given:
    """A request that is given up, and why."""

    kept: Kept
    reason: Reason
    error: Exception


class Aside:
    """Sets requests aside one after the other; one for which there is no room stays in the
    journal until there is."""

    def __init__(
        self, journal: Journal, store: StoreClient, let_go: Callable[[Kept], None]
    ) -> None:
        self._journal = journal
        self._store = store
        self._let_go = let_go
        self._given: asyncio.Queue[_Given] = asyncio.Queue()

    def put(self, kept: Kept, reason: Reason, error: Exception) -> None:
        """Give a request up."""
        self._given.put_nowait(_Given(kept=kept, reason=reason, error=error))

    async def run(self) -> None:
        """Set aside what comes until cancelled."""
        while True:
            given = await self._given.get()
            await self._keep(given)
            await self._count(given)
            self._let_go(given.kept)

    async def _keep(self, given: _Given) -> None:
        data = await self._read(given)
        delay_s = _RETRY_S
        while data:
            try:
                target = await asyncio.to_thread(keep_aside, self._journal.folder, data)
            except OSError as error:
                if delay_s == _RETRY_S:
                    _log.critical(
                        "a request cannot be set aside and stays in the journal: %s", error
                    )
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, _LONGEST_RETRY_S)
                continue
            _log.critical(
                "a request that was acknowledged was set aside as %s, since %s (%s): "
                'see "A request was set aside" in docs/operations.md',
                *(target, given.reason, given.error),
            )
            return

    async def _read(self, given: _Given) -> bytes:
        """Return what there is of the request; what cannot be read is lost, and said to be."""
        try:
            data = await asyncio.to_thread(segments.read, given.kept)
        except OSError as error:
            _log.critical("a request that was acknowledged cannot be read any more: %s", error)
            return b""
        if len(data) < given.kept.size:
            _log.critical(
                "of a request that was acknowledged %d bytes are not in the journal any more",
                given.kept.size - len(data),
            )
        return data

    async def _count(self, given: _Given) -> None:
        """Have the request counted as rejected, however long that takes."""
        kept = given.kept
        try:
            header = HEADER.validate_python(kept.header)
        except ValidationError:
            return None  # nobody can tell what it held
        signal, rejected = header["signal"], header["rows"] + header["rejected"]
        reasons = {**header["reasons"], given.reason: header["rows"]}
        while True:
            try:
                return await self._store.account(signal, rejected=rejected, reasons=reasons)
            except Unavailable:
                await asyncio.sleep(_RETRY_S)
            except TracejuryError:
                return _log.exception("what was set aside is not counted")
