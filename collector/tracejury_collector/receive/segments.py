"""Segments: files of what a receiver has acknowledged, as they are written, read and taken over.

A segment is a file of entries, each with its CRC-32, a header (JSON) and a payload (Arrow IPC).
Whoever writes a segment holds a lock on it, which ends with the process. Between the entries are
notes about them, for whoever takes the segment over: entries without a payload, which nothing
waits for.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import logging
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tracejury_collector.files import check_room, keep_aside, sync

_log = logging.getLogger(__name__)

SUFFIX = ".segment"
_NOTE = "note"
_AT_ONCE = 512  # pieces in one call of the system, which takes 1,024
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


@dataclass(frozen=True, kw_only=True)
class Left:
    """A segment that a receiver left when it died, and what it holds."""

    segment: Segment
    entries: list[Entry]
    notes: list[dict[str, Any]]
    damage: Damage | None
    """What cannot be read, where it could not be set aside; it counts as an entry."""


@dataclass(frozen=True, kw_only=True)
class Damage:
    """The end of a segment, from `start` on, that cannot be read."""

    start: int
    data: bytes


def pack(entry: Entry) -> bytes:
    """Return an entry as it lies on the disk."""
    return b"".join(_packed(entry))


def _packed(entry: Entry) -> tuple[bytes, bytes | memoryview]:
    """Return an entry as it lies on the disk in two pieces; the payload is not copied."""
    head = orjson.dumps(entry.header)
    start = _LENGTHS.pack(len(head), len(entry.payload)) + head
    checksum = zlib.crc32(entry.payload, zlib.crc32(start))
    return _CHECKSUM.pack(checksum) + start, entry.payload


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


def created(folder: Path) -> Segment:
    """Return a new segment, which is there after a crash of the machine too.

    Raises: OSError
    """
    if not folder.is_dir():
        folder.mkdir(mode=0o700)
        sync(folder.absolute().parent)
    number = 1 + max((_number(path) for path in folder.iterdir()), default=0)
    while True:
        path = folder / f"{number:012}{SUFFIX}"
        number += 1
        with contextlib.suppress(FileExistsError):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink:  # nobody took it for one that was left
                sync(folder)
                return Segment(path, handle)
            os.close(handle)


def _number(path: Path) -> int:
    return int(path.stem) if path.suffix == SUFFIX and path.stem.isdecimal() else 0


def append(segment: Segment, entries: Iterable[Entry]) -> None:
    """Write the entries one after the other and wait for the disk; else leave none of them.

    Raises: OSError, Unavailable
    """
    check_room(segment.path.parent)
    with _whole(segment):
        _write(segment, entries)
        os.fdatasync(segment.handle)


def note(segment: Segment, note: dict[str, Any]) -> None:
    with contextlib.suppress(OSError), _whole(segment):
        _write(segment, [Entry({_NOTE: note}, b"")])


@contextlib.contextmanager
def _whole(segment: Segment) -> Iterator[None]:
    """Leave nothing in the segment of what could not be written whole."""
    size = segment.size
    try:
        yield
    except OSError:
        segment.size = size
        with contextlib.suppress(OSError):
            os.ftruncate(segment.handle, size)
        raise


def _write(segment: Segment, entries: Iterable[Entry]) -> None:
    pieces = iter([memoryview(piece) for entry in entries for piece in _packed(entry) if piece])
    while some := list(itertools.islice(pieces, _AT_ONCE)):
        while some:
            written = os.writev(segment.handle, some)
            segment.size += written
            some = _rest(some, written)


def _rest(pieces: list[memoryview], written: int) -> list[memoryview]:
    """Return what is left of pieces of which so many bytes are written."""
    for index, piece in enumerate(pieces):
        if written < len(piece):
            return [piece[written:], *pieces[index + 1 :]]
        written -= len(piece)
    return []


def clear(segment: Segment) -> None:
    os.ftruncate(segment.handle, 0)
    segment.size = 0


def remove(segment: Segment) -> None:
    segment.path.unlink(missing_ok=True)
    os.close(segment.handle)


def taken_over(path: Path) -> Segment | None:
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


def left(segment: Segment, data: bytes) -> Left:
    """Return what a segment that was taken over holds, and note that it was."""
    found, end = unpack(memoryview(data))
    entries = [entry for entry in found if _NOTE not in entry.header]
    notes = [entry.header[_NOTE] for entry in found if _NOTE in entry.header]
    segment.size = len(data)
    damage = Damage(start=end, data=data[end:]) if end < len(data) else None
    if damage and set_aside(segment, damage):
        damage = None
    segment.live = len(entries) + bool(damage)
    return Left(segment=segment, entries=entries, notes=notes, damage=damage)


def set_aside(segment: Segment, damage: Damage) -> bool:
    """Keep what cannot be read beside the folder, and leave the segment without it.

    Return whether there was room for it.
    """
    try:
        target = keep_aside(segment.path.parent, damage.data)
    except OSError as error:
        _log.critical("what is damaged of %s cannot be set aside: %s", segment.path, error)
        return False
    os.ftruncate(segment.handle, damage.start)
    segment.size = damage.start
    _log.critical(
        "%d bytes of %s cannot be read and were set aside as %s: what they held is lost",
        *(len(damage.data), segment.path, target),
    )
    return True
