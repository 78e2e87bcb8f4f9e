"""From the journal to the store: what is on the disk already, many requests in one batch."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence

from pydantic import ValidationError

from tracejury.errors import TracejuryError
from tracejury_collector import failpoints
from tracejury_collector.entries import Entry
from tracejury_collector.errors import StoreDied, Unavailable
from tracejury_collector.receive import blame
from tracejury_collector.receive.admission import Admission
from tracejury_collector.receive.aside import Aside
from tracejury_collector.receive.batches import HEADER, send, signal_of
from tracejury_collector.receive.blame import BATCH_DEATHS, Suspects
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.segments import Kept, Left
from tracejury_collector.receive.store_client import StoreClient, StoreSignal
from tracejury_collector.receive.trials import Trials, key_of

_log = logging.getLogger(__name__)

BATCH_ROWS = 16_384
BATCH_BYTES = 8 << 20
FULL_ROWS = 2_048
REST = 2.0
"""After a batch the next one below `FULL_ROWS` waits for this many times as long as that took: a
commit costs the same for few rows."""
LONGEST_REST_S = 0.2

_RETRY_S = 0.25
_LONGEST_RETRY_S = 2.0  # a store whose disk is full opens its file anew after each attempt
_SIGNALS: tuple[StoreSignal, ...] = ("spans", "logs")


class _Lane:
    """What waits of one signal, in the order of the journal; one batch of it has its turn."""

    def __init__(self) -> None:
        self.waiting: deque[Kept] = deque()
        self.rows = 0
        self.news = asyncio.Event()
        self.turn = asyncio.Lock()

    def put(self, kept: Kept) -> None:
        self.waiting.append(kept)
        self.rows += kept.rows
        self.news.set()

    def take(self) -> list[Kept]:
        """Return what one batch takes of what waits."""
        taken: list[Kept] = []
        rows = size = 0
        while self.waiting:
            rows += self.waiting[0].rows
            size += self.waiting[0].size
            if taken and (rows > BATCH_ROWS or size > BATCH_BYTES):
                break
            taken.append(self.waiting.popleft())
        self.rows -= sum(kept.rows for kept in taken)
        if not self.waiting:
            self.news.clear()
        return taken


class Handover:
    """Keeps requests in the journal, and carries them to the store until they are committed there.

    The bytes that wait count as in flight, so that senders wait when the store falls behind.
    """

    def __init__(self, journal: Journal, store: StoreClient, admission: Admission) -> None:
        self._journal = journal
        self._store = store
        self._admission = admission
        self._lanes = {signal: _Lane() for signal in _SIGNALS}
        self._suspicious = {signal: _Lane() for signal in _SIGNALS}
        """What was left too often, until it is tried apart."""
        turns = [lane.turn for lane in self._lanes.values()]
        self._aside = Aside(journal, store, self._let_go)
        self._trials = Trials(journal, store, turns, self._let_go, self._aside)
        self._damaged: list[Left] = []
        self._kept = 0
        self._emptied = asyncio.Event()
        self._emptied.set()

    async def keep(self, entry: Entry) -> None:
        """Write the entry to the journal; it goes to the store from there.

        Raises: Unavailable where the disk does not take it.
        """
        written = self._journal.append(entry)
        written.add_done_callback(self._take_on)
        await asyncio.shield(written)  # whoever stops waiting does not take it back

    def take_over(self, left: Left) -> None:
        """Carry on with what a receiver left when it died.

        What may have had a part in that is tried apart from all else.
        """
        _log.warning(
            "%d requests of %s were acknowledged before and go to the store now",
            *(len(left.requests), left.segment.path.name),
        )
        if left.damage:
            self._damaged.append(left)
        self._journal.note(left.segment, blame.taken_over())
        recalled = blame.recalled(left.notes)
        found = [kept for kept in left.requests if self._takes(kept)]
        tried, others = _apart(found, recalled.trials)
        self._trials.put(tried)
        lanes = self._suspicious if recalled.is_suspicious else self._lanes
        for kept in others:
            lanes[signal_of(kept)].put(kept)

    async def run(self) -> None:
        """Carry what comes until cancelled."""
        for lane in self._suspicious.values():
            self._trials.put(_parts(lane))
        async with asyncio.TaskGroup() as group:
            for signal, lane in self._lanes.items():
                group.create_task(self._serve(lane), name=f"handover of {signal}")
            group.create_task(self._trials.run(), name="trials")
            group.create_task(self._aside.run(), name="setting aside")
            group.create_task(self._clear_up(), name="clearing up")

    async def drain(self) -> None:
        """Return once nothing waits for the store."""
        await self._emptied.wait()

    def _take_on(self, written: asyncio.Future[Kept]) -> None:
        if not written.cancelled() and not written.exception():
            kept = written.result()
            self._hold(kept)
            self._lanes[signal_of(kept)].put(kept)

    def _takes(self, kept: Kept) -> bool:
        """Hold a request that was left; one that nobody can tell what it holds is given up."""
        self._hold(kept)
        try:
            HEADER.validate_python(kept.header)
        except ValidationError as error:
            self._aside.put(kept, "the store cannot hold it", error)
            return False
        return True

    def _hold(self, kept: Kept) -> None:
        self._admission.hold(kept.size)
        self._kept += 1
        self._emptied.clear()

    async def _clear_up(self) -> None:
        """Set aside what is damaged of segments, and had no room yet."""
        delay_s = _RETRY_S
        while self._damaged:
            if await self._journal.set_aside(self._damaged[-1]):
                self._damaged.pop()
            else:
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, _LONGEST_RETRY_S)

    async def _serve(self, lane: _Lane) -> None:
        due_s = 0.0
        while True:
            await lane.news.wait()
            if lane.rows < FULL_ROWS:
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            async with lane.turn:
                began_s = time.monotonic()
                await self._carry(lane.take())
                ended_s = time.monotonic()
            due_s = ended_s + min(REST * (ended_s - began_s), LONGEST_REST_S)

    async def _carry(self, batch: Sequence[Kept]) -> None:
        """Have the batch committed, however long that takes; or have its requests tried apart."""
        try:
            await self._persist(batch)
        except StoreDied as error:
            _log.warning("%s: the %d requests of a batch are tried apart", error, len(batch))
            self._trials.put(blame.split(batch))
        except TracejuryError as error:
            await self._refused(batch, error)
        else:
            for kept in batch:
                self._let_go(kept)

    async def _persist(self, batch: Sequence[Kept]) -> None:
        """Send until the store has taken them or says that it never will; say once that it waits.

        Raises: TracejuryError
        """
        delay_s = _RETRY_S
        while True:
            try:
                await send(self._store, batch, deaths=BATCH_DEATHS)
                return
            except Unavailable as error:
                if delay_s == _RETRY_S:
                    _log.warning("%d requests wait for the store: %s", len(batch), error)
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, _LONGEST_RETRY_S)

    async def _refused(self, batch: Sequence[Kept], error: TracejuryError) -> None:
        """Find out which request the store can never hold, and give that up."""
        if len(batch) > 1:
            for kept in batch:
                await self._carry([kept])
        else:
            self._aside.put(batch[0], "the store cannot hold it", error)

    def _let_go(self, kept: Kept) -> None:
        failpoints.reach("receiver.forgetting")
        self._journal.forget(kept.segment)
        self._admission.give_back(kept.size)
        self._kept -= 1
        if not self._kept:
            self._emptied.set()


def _apart(
    found: Sequence[Kept], trials: Sequence[Suspects[str]]
) -> tuple[list[Suspects[Kept]], list[Kept]]:
    """Return those that are on trial still, as they were, and all others."""
    by_key = {key_of(kept): kept for kept in found}
    tried = [
        Suspects(members=members, strikes=trial.strikes, life=trial.life)
        for trial in trials
        if (members := tuple(by_key.pop(key) for key in trial.members if key in by_key))
    ]
    known = {id(kept) for suspects in tried for kept in suspects.members}
    return tried, [kept for kept in found if id(kept) not in known]


def _parts(lane: _Lane) -> list[Suspects[Kept]]:
    """Return what waits in parts of which none is larger than a batch."""
    batches: list[list[Kept]] = []
    while lane.waiting:
        batches.append(lane.take())
    if len(batches) == 1:
        return blame.split(batches[0])
    return [Suspects(members=tuple(batch)) for batch in batches]
