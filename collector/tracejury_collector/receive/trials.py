"""Finding the request that the store dies of: those that may be it are sent apart from all else."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from tracejury.errors import TracejuryError
from tracejury_collector.errors import StoreDied, Unavailable
from tracejury_collector.receive import blame
from tracejury_collector.receive.aside import Aside
from tracejury_collector.receive.batches import send
from tracejury_collector.receive.blame import Suspects
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.segments import Kept
from tracejury_collector.receive.store_client import StoreClient

_log = logging.getLogger(__name__)

_RETRY_S = 1.0


class Trials:
    """Tries suspects until each of their requests is committed, or set aside.

    The store has nothing else of any receiver's suspects in hand meanwhile, nor what comes through
    the lanes whose `turns` these are; and it has just committed something: so a store that dies by
    itself makes nobody guilty.
    """

    def __init__(
        self,
        journal: Journal,
        store: StoreClient,
        turns: Sequence[asyncio.Lock],
        let_go: Callable[[Kept], None],
        aside: Aside,
    ) -> None:
        self._journal = journal
        self._store = store
        self._turns = turns
        self._let_go = let_go
        self._aside = aside
        self._waiting: list[tuple[int, int, Suspects[Kept]]] = []
        self._numbers = itertools.count()
        self._news = asyncio.Event()
        self._proven = 0
        """The connection on which the store has committed last."""

    def put(self, suspects: Iterable[Suspects[Kept]]) -> None:
        """Have these tried; those with the fewest strikes come first."""
        for each in suspects:
            heapq.heappush(self._waiting, (each.strikes, next(self._numbers), each))
            self._news.set()

    async def run(self) -> None:
        """Try what comes until cancelled."""
        while True:
            await self._news.wait()
            *_, suspects = heapq.heappop(self._waiting)
            if not self._waiting:
                self._news.clear()
            try:
                await self._try(suspects)
            except Unavailable:
                self.put([replace(suspects, strikes=0)])
                await asyncio.sleep(_RETRY_S)

    async def _try(self, suspects: Suspects[Kept]) -> None:
        """Try once.

        Raises: Unavailable where the store lives and cannot take them now.
        """
        connection = await self._calm(suspects.pause_s)
        async with self._alone():
            if not self._is_proven:
                await self._probe()
            if connection in (0, self._store.connection):
                await self._resume(suspects)
            else:
                self.put([suspects])

    async def _resume(self, suspects: Suspects[Kept]) -> None:
        found = blame.resumed(suspects, self._store.life())
        if found == [replace(suspects, life=None)]:
            await self._judge(found[0])
        else:
            self._accuse(found, StoreDied("the store died of it, and its receiver with it"))

    async def _judge(self, suspects: Suspects[Kept]) -> None:
        await asyncio.gather(*self._note(replace(suspects, life=self._store.life())))
        if not self._is_proven:
            return self.put([suspects])
        try:
            await send(self._store, suspects.members, deaths=1)
        except StoreDied as error:
            return self._accuse(blame.struck(suspects), error)
        except asyncio.CancelledError:
            self._note(suspects)
            raise
        except Unavailable:
            self._note(replace(suspects, strikes=0))
            raise
        except TracejuryError as error:
            self._refused(suspects, error)
        else:
            self._note(replace(suspects, strikes=0))
            for kept in suspects.members:
                self._let_go(kept)

    def _accuse(self, found: Sequence[Suspects[Kept]], error: StoreDied) -> None:
        """Try them again, or set aside the one that is left and guilty."""
        if not found[0].is_guilty:
            suspects = sum(len(each.members) for each in found)
            _log.warning("%s: one of %d requests may be why", error, suspects)
            return self.put(found)
        why = StoreDied(f"{blame.STRIKES} deaths in a row with nothing else in hand")
        return self._aside.put(found[0].members[0], "the store dies of it", why)

    def _refused(self, suspects: Suspects[Kept], error: TracejuryError) -> None:
        if len(suspects.members) > 1:
            self.put(blame.split(suspects.members))
        else:
            self._aside.put(suspects.members[0], "the store cannot hold it", error)

    async def _calm(self, pause_s: float) -> int:
        """Return the connection on which the store has lived for so long and committed; 0: any."""
        if not pause_s:
            return 0
        while True:
            await self._probe()
            connection = self._store.connection
            await asyncio.sleep(pause_s)
            self._proven = 0  # it has to commit again
            if connection and connection == self._store.connection:
                return connection

    @property
    def _is_proven(self) -> bool:
        """Whether the store that is connected now has committed something since we last knew."""
        return self._proven == self._store.connection != 0

    async def _probe(self) -> None:
        """Return once the store has committed something that holds nothing."""
        while True:
            try:
                await self._store.account("spans")
            except TracejuryError:
                await asyncio.sleep(_RETRY_S)
            else:
                self._proven = self._store.connection
                return

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._journal.alone())
            for turn in self._turns:
                await stack.enter_async_context(turn)
            yield

    def _note(self, suspects: Suspects[Kept]) -> list[asyncio.Future[None]]:
        """Write down what is tried, so that a receiver that comes after this one knows it."""
        by_segment: dict[int, list[Kept]] = {}
        for kept in suspects.members:
            by_segment.setdefault(id(kept.segment), []).append(kept)
        return [
            self._journal.note(
                members[0].segment,
                blame.tried(
                    Suspects(
                        members=tuple(key_of(kept) for kept in members),
                        strikes=suspects.strikes,
                        life=suspects.life,
                    ),
                    alone=len(suspects.members) == 1,
                ),
            )
            for members in by_segment.values()
        ]


def key_of(kept: Kept) -> str:
    """Return what tells a request from the others of its segment, whoever reads it."""
    return str(kept.start)
