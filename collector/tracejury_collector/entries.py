"""Entries of a journal: how receivers write a request down, and the store reads it.

An entry is its CRC-32, a header (JSON) and a payload (rows as an Arrow IPC stream).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

_LENGTHS = struct.Struct(">IQ")  # of header and payload
_CHECKSUM = struct.Struct(">I")


class Entry(NamedTuple):
    """One request as it is kept: what is said of it, and its rows."""

    header: dict[str, Any]
    payload: bytes | memoryview


class Found(NamedTuple):
    """An entry, and from where to where it lies."""

    entry: Entry
    start: int
    end: int


def pack(entry: Entry) -> bytes:
    """Return an entry as it lies on the disk."""
    return b"".join(packed(entry))


def packed(entry: Entry) -> tuple[bytes, bytes | memoryview]:
    """Return an entry as it lies on the disk in two pieces; the payload is not copied."""
    head = orjson.dumps(entry.header)
    start = _LENGTHS.pack(len(head), len(entry.payload)) + head
    checksum = zlib.crc32(entry.payload, zlib.crc32(start))
    return _CHECKSUM.pack(checksum) + start, entry.payload


def unpack(data: memoryview) -> Iterator[Found]:
    """Yield the entries one after the other, up to the first that is not whole."""
    position = 0
    while found := _entry_at(data, position):
        yield found
        position = found.end


def _entry_at(data: memoryview, position: int) -> Found | None:
    body = position + _CHECKSUM.size
    start = body + _LENGTHS.size
    if start > len(data):
        return None
    head_length, payload_length = _LENGTHS.unpack_from(data, body)
    middle = start + head_length
    end = middle + payload_length
    if end > len(data) or zlib.crc32(data[body:end]) != _CHECKSUM.unpack_from(data, position)[0]:
        return None
    return Found(Entry(orjson.loads(data[start:middle]), data[middle:end]), position, end)
