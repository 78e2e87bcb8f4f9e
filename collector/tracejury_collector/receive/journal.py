"""The journal of a receiver: what it has acknowledged and the database does not hold yet.

A segment is a file of entries, each with its CRC-32, a header (JSON) and a payload (Arrow IPC).
Whoever writes a segment holds a lock on it, which ends with the process: a receiver that starts
takes over the segments that nobody holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import orjson

from tracejury_collector.errors import Unavailable
from tracejury_collector.files import aside_name, check_room, sync

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)

SEGMENT_BYTES = 16 << 20
_SUFFIX = ".segment"
_LENGTHS = struct.Struct(">IQ")  # of header and payload
_CHECKSUM = struct.Struct(">I")


class Entry(NamedTuple):
    """One request as it is kept: what is said of it, and its rows."""

    header: dict[str, Any]
    payload: bytes | memoryview


@dataclass(eq=False)
class Segment:
    """A file of entries; `live` of them are not in the database yet."""

    path: Path
    handle: int
    size: int = 0
    live: int = 0


@dataclass(frozen=True, eq=False)
class _Write:
    data: bytes
    written: asyncio.Future[Segment]


@dataclass(frozen=True, kw_only=True)
class Left:
    """A segment that a receiver left when it died, and what it holds."""

    segment: Segment
    entries: list[Entry]


def pack(entry: Entry) -> bytes:
    """Return an entry as it lies on the disk."""
    head = orjson.dumps(entry.header)
    rest = b"".join((_LENGTHS.pack(len(head), len(entry.payload)), head, entry.payload))
    return _CHECKSUM.pack(zlib.crc32(rest)) + rest


def unpack(data: memoryview) -> tuple[list[Entry], int]:
    """Return the entries of a segment up to the first that is not whole, and where that begins."""
    found: list[Entry] = []
    position = 0
    while entry := _entry_at(data, position):
        found.append(entry[0])
        position = entry[1]
    return found, position


def _entry_at(data: memoryview, position: int) -> tuple[Entry, int] | None:
    body = position + _CHECKSUM.size
    start = body + _LENGTHS.size
    if start > len(data):
        return None
    head_length, payload_length = _LENGTHS.unpack_from(data, body)
    middle = start + head_length
    end = middle + payload_length
    if end > len(data) or zlib.crc32(data[body:end]) != _CHECKSUM.unpack_from(data, position)[0]:
        return None
    return Entry(orjson.loads(data[start:middle]), data[middle:end]), end


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

    def append(self, data: bytes) -> asyncio.Future[Segment]:
        """Write a packed entry; resolves to its segment once it is on the disk.

        It fails with Unavailable where the disk does not take it.
        """
        written: asyncio.Future[Segment] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Write(data, written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_waiting(), name="journal")
        return written

    def forget(self, segment: Segment) -> None:
        """Take note that one entry of the segment is in the database; at the last, clear it."""
        segment.live -= 1
        if segment.live or (segment is self._current and self._writing):
            return
        if segment is self._current:
            segment.size = 0
            self._thread.submit(_clear, segment)
        else:
            self._drop(segment)

    def left(self) -> Iterator[Left]:
        """Take over the segments that nobody holds; whatever of them is damaged is set aside."""
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            segment = _taken_over(path)
            if segment is None:
                continue
            data = path.read_bytes()
            entries, end = unpack(memoryview(data))
            if end < len(data):
                _set_aside(segment, data[end:], end)
            segment.live = len(entries)
            self._held.add(segment)
            if entries:
                yield Left(segment=segment, entries=entries)
            else:
                self._drop(segment)

    def close(self) -> None:
        """Release the segments; what is in them stays for the next receiver."""
        self._turn_over(None)
        self._thread.shutdown()
        for segment in self._held:
            os.close(segment.handle)

    def _drop(self, segment: Segment) -> None:
        self._held.discard(segment)
        self._thread.submit(_remove, segment)

    async def _write_waiting(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            try:
                segment = await self._roomy()
                await self._in_thread(_append, segment, [write.data for write in group])
            except (OSError, Unavailable) as error:
                self._turn_over(None)
                _fail(group, error)
                continue
            segment.live += len(group)
            for write in group:
                if not write.written.done():
                    write.written.set_result(segment)
        self._writing = None

    async def _roomy(self) -> Segment:
        """Return the segment to write to, a new one where the last has become large.

        Raises: OSError
        """
        if self._current is None or self._current.size >= SEGMENT_BYTES:
            self._turn_over(await self._in_thread(_created, self.folder))
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


def _fail(group: Sequence[_Write], error: OSError | Unavailable) -> None:
    _log.error("the journal cannot be written: %s", error)
    for write in group:
        if not write.written.done():
            refusal = Unavailable(f"what is sent cannot be kept now: {error}")
            write.written.set_exception(refusal)


def _created(folder: Path) -> Segment:
    """Return a new segment, which is there after a crash of the machine too.

    Raises: OSError
    """
    if not folder.is_dir():
        folder.mkdir(mode=0o700)
        sync(folder.absolute().parent)
    number = 1 + max((_number(path) for path in folder.iterdir()), default=0)
    while True:
        path = folder / f"{number:012}{_SUFFIX}"
        number += 1
        with contextlib.suppress(FileExistsError):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink:  # nobody took it for one that was left
                sync(folder)
                return Segment(path, handle)
            os.close(handle)


def _number(path: Path) -> int:
    return int(path.stem) if path.suffix == _SUFFIX and path.stem.isdecimal() else 0


def _append(segment: Segment, parts: Sequence[bytes]) -> None:
    """Write the parts one after the other and wait for the disk; else leave none of them.

    Raises: OSError, Unavailable
    """
    check_room(segment.path.parent)
    data = memoryview(b"".join(parts))
    try:
        rest = data
        while rest:
            rest = rest[os.write(segment.handle, rest) :]
        os.fdatasync(segment.handle)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(segment.handle, segment.size)
        raise
    segment.size += len(data)


def _clear(segment: Segment) -> None:
    os.ftruncate(segment.handle, 0)


def _remove(segment: Segment) -> None:
    segment.path.unlink(missing_ok=True)
    os.close(segment.handle)


def _taken_over(path: Path) -> Segment | None:
    """Return the segment, locked; None where another process holds it or has just removed it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    if not os.fstat(handle).st_nlink:
        os.close(handle)
        return None
    return Segment(path, handle)


def _set_aside(segment: Segment, rest: bytes, end: int) -> None:
    """Keep what cannot be read beside the folder, and leave the segment without it."""
    target = aside_name(segment.path.parent)
    target.write_bytes(rest)
    os.ftruncate(segment.handle, end)
    _log.critical(
        "%d bytes of %s cannot be read and were set aside as %s: what they held is lost",
        *(len(rest), segment.path, target),
    )
