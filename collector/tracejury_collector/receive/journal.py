"""The journal of a receiver: what it has acknowledged and the database does not hold yet.

It lies in segments, of which all that waits shares one sync. A receiver that starts takes over the
segments that nobody holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tracejury_collector.entries import Entry
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive import segments
from tracejury_collector.receive.segments import Kept, Left, Segment

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)

SEGMENT_BYTES = 16 << 20
_POLL_S = 0.02


@dataclass(frozen=True, eq=False)
class _Write:
    entry: Entry
    written: asyncio.Future[Kept]


@dataclass(eq=False)
class Journal:
    """The segments in a folder that this process writes; all that waits shares one sync."""

    folder: Path
    _waiting: list[_Write] = field(default_factory=list)
    _writing: asyncio.Task[None] | None = None
    _current: Segment | None = None
    _held: set[Segment] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")

    def append(self, entry: Entry) -> asyncio.Future[Kept]:
        """Write an entry; resolves to where it lies once it is on the disk.

        It fails with Unavailable where the disk does not take it.
        """
        written: asyncio.Future[Kept] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Write(entry, written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_waiting(), name="journal")
        return written

    def note(self, segment: Segment, note: dict[str, Any]) -> asyncio.Future[None]:
        """Write a note about what the segment holds; resolves once a death of this process does
        not take it back. A disk that does not take it costs the note."""
        return asyncio.wrap_future(self._thread.submit(segments.note, segment, note))

    def forget(self, segment: Segment) -> None:
        """Take note that one entry of the segment is in the database; at the last, clear it."""
        segment.live -= 1
        if segment.live or (segment is self._current and self._writing):
            return
        if segment is self._current:
            self._thread.submit(segments.clear, segment)
        else:
            self._drop(segment)

    def left(self) -> Iterator[Left]:
        """Take over the segments that nobody holds; whatever of them is damaged is set aside.

        One that cannot be read stays where it is.
        """
        for path in sorted(self.folder.glob(f"*{segments.SUFFIX}")):
            try:
                left = segments.taken_over(path)
            except (OSError, UnicodeError) as error:
                _log.critical("what is left in %r cannot be read now: %s", str(path), error)
                continue
            if left is None:
                continue
            self._held.add(left.segment)
            if left.segment.live:
                yield left
            else:
                self._drop(left.segment)

    async def set_aside(self, left: Left) -> bool:
        """Set aside what is damaged; return whether that went well."""
        if left.damage is None:
            return True
        if not await self._in_thread(segments.set_aside, left.segment, left.damage):
            return False
        self.forget(left.segment)
        return True

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be the only one of this folder's receivers inside the block.

        Raises: Unavailable where there is no folder.
        """
        try:
            handle = os.open(self.folder, os.O_RDONLY)
        except OSError as error:
            raise Unavailable(f"the journal is gone: {error}") from error
        try:
            while not _is_locked(handle):
                await asyncio.sleep(_POLL_S)
            yield
        finally:
            os.close(handle)

    def close(self) -> None:
        """Release the segments; what is in them stays for the next receiver."""
        self._turn_over(None)
        self._thread.shutdown()
        for segment in self._held:
            os.close(segment.handle)

    def _drop(self, segment: Segment) -> None:
        self._held.discard(segment)
        self._thread.submit(segments.remove, segment)

    async def _write_waiting(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            try:
                segment = await self._roomy()
                entries = [write.entry for write in group]
                places = await self._in_thread(segments.append, segment, entries)
            except (OSError, MemoryError, Unavailable) as error:
                self._turn_over(None)
                _fail(group, error)
                continue
            segment.live += len(group)
            for write, kept in zip(group, places, strict=True):
                if not write.written.done():
                    write.written.set_result(kept)
        self._writing = None

    async def _roomy(self) -> Segment:
        """Return the segment to write to, a new one where the last takes no more.

        Raises: OSError
        """
        if self._current is None or _is_done(self._current):
            self._turn_over(await self._in_thread(segments.created, self.folder))
        assert self._current
        return self._current

    def _turn_over(self, segment: Segment | None) -> None:
        last, self._current = self._current, segment
        if segment:
            self._held.add(segment)
        if last and not last.live:
            self._drop(last)

    async def _in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        call = partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def _is_done(segment: Segment) -> bool:
    return segment.size >= SEGMENT_BYTES or segment.is_spoiled or segments.is_gone(segment)


def _fail(group: Sequence[_Write], error: Exception) -> None:
    _log.error("the journal cannot be written: %s", error)
    for write in group:
        if not write.written.done():
            refusal = Unavailable(f"what is sent cannot be kept now: {error}")
            write.written.set_exception(refusal)


def _is_locked(handle: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
