"""Segments: files of what a receiver has acknowledged, as they are written, read and taken over.

Whoever writes a segment holds a lock on it, which ends with the process. Between the entries of
requests are notes about them, for whoever takes the segment over: entries without a payload, which
nothing waits for.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracejury_collector.entries import Entry, packed, unpack
from tracejury_collector.files import check_room, keep_aside, sync

_log = logging.getLogger(__name__)

SUFFIX = ".segment"
_NOTE = "note"
_AT_ONCE = 512  # pieces in one call of the system, which takes 1,024


@dataclass(eq=False)
class Segment:
    """A file of entries; `live` of them are not in the database yet."""

    path: Path
    handle: int
    size: int = 0
    live: int = 0
    is_spoiled: bool = False
    """Whether something lies at its end that is no entry and could not be taken back."""

    def __post_init__(self) -> None:
        self.inode = os.fstat(self.handle).st_ino


@dataclass(frozen=True, eq=False)
class Kept:
    """A request that is in a segment: what is said of it, and from where to where it lies."""

    header: dict[str, Any]
    segment: Segment
    start: int
    end: int

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return self.end - self.start

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        rows: int = self.header["rows"]
        return rows


@dataclass(frozen=True, kw_only=True)
class Left:
    """A segment that a receiver left when it died, and what it holds."""

    segment: Segment
    requests: list[Kept]
    notes: list[dict[str, Any]]
    damage: Damage | None
    """What cannot be read, where it could not be set aside; it counts as an entry."""


@dataclass(frozen=True, kw_only=True)
class Damage:
    """The end of a segment, from `start` on, that cannot be read."""

    start: int
    data: bytes


def created(folder: Path) -> Segment:
    """Return a new segment, which is there after a crash of the machine too.

    Raises: OSError
    """
    if not folder.is_dir():
        folder.mkdir(mode=0o700)
        sync(folder.absolute().parent)
    number = 1 + max(map(_number, folder.iterdir()), default=0)
    while True:
        path = folder / f"{number:012}{SUFFIX}"
        number += 1
        with contextlib.suppress(FileExistsError):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            segment = Segment(path, handle)
            if not is_gone(segment):  # nobody took it for one that was left
                sync(folder)
                return segment
            os.close(handle)


def _number(path: Path) -> int:
    return int(path.stem) if path.suffix == SUFFIX and path.stem.isdecimal() else 0


def is_gone(segment: Segment) -> bool:
    """Return whether somebody has removed or moved the file, so that nobody else finds it."""
    try:
        return segment.path.stat().st_ino != segment.inode
    except (FileNotFoundError, NotADirectoryError):
        return True


def append(segment: Segment, entries: Iterable[Entry]) -> list[Kept]:
    """Write the entries one after the other and wait for the disk; else leave none of them.

    Raises: OSError, Unavailable
    """
    check_room(segment.path.parent)
    with _whole(segment):
        kept = _write(segment, entries)
        os.fdatasync(segment.handle)
    return kept


def read(kept: Kept) -> bytes:
    """Return a request as it lies in its segment, wherever that is by now.

    Raises: OSError
    """
    return os.pread(kept.segment.handle, kept.size, kept.start)


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
        try:
            os.ftruncate(segment.handle, size)
        except OSError:
            segment.is_spoiled = True
        raise


def _write(segment: Segment, entries: Iterable[Entry]) -> list[Kept]:
    kept: list[Kept] = []
    waiting: list[memoryview] = []
    end = os.lseek(segment.handle, 0, os.SEEK_END)
    for entry in entries:
        both = packed(entry)
        start, end = end, end + sum(map(len, both))
        kept.append(Kept(entry.header, segment, start, end))
        waiting.extend(memoryview(piece) for piece in both if piece)
    pieces = iter(waiting)
    while some := list(itertools.islice(pieces, _AT_ONCE)):
        while some:
            written = os.writev(segment.handle, some)
            segment.size += written
            some = _rest(some, written)
    return kept


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
    if not is_gone(segment):
        segment.path.unlink(missing_ok=True)
    os.close(segment.handle)


def taken_over(path: Path) -> Left | None:
    """Return what a segment holds, locked; None where another process holds it or has removed it.

    Raises: OSError, UnicodeError where it cannot be read, or not be named to others.
    """
    path.name.encode()
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        return None
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        segment = Segment(path, handle)
        if is_gone(segment):
            return None
        left = _left(segment, path.read_bytes())
        undo.pop_all()
        return left


def _left(segment: Segment, data: bytes) -> Left:
    """Return what a segment that was taken over holds, and note that it was."""
    requests: list[Kept] = []
    notes: list[dict[str, Any]] = []
    end = 0
    for (header, _), start, end in unpack(memoryview(data)):
        if _NOTE in header:
            notes.append(header[_NOTE])
        else:
            requests.append(Kept(header, segment, start, end))
    segment.size = len(data)
    damage = Damage(start=end, data=data[end:]) if end < len(data) else None
    if damage and set_aside(segment, damage):
        damage = None
    segment.live = len(requests) + bool(damage)
    return Left(segment=segment, requests=requests, notes=notes, damage=damage)


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
