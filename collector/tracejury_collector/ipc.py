"""Frames between the service's processes over a Unix socket.

A frame is a header (JSON object) and a payload (bytes, Arrow IPC or JSON):
4 bytes header length, 8 bytes payload length (both big-endian), header, payload.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import orjson

_LENGTHS = struct.Struct(">IQ")
MAX_HEADER_BYTES = 1 << 20
MAX_PAYLOAD_BYTES = 1 << 30


class BrokenFrame(ConnectionError):
    """The peer sent something that is not a frame."""


async def read_frame(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Return the next (header, payload).

    Raises: asyncio.IncompleteReadError when the peer has closed; BrokenFrame on nonsense.
    """
    header_length, payload_length = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    if header_length > MAX_HEADER_BYTES or payload_length > MAX_PAYLOAD_BYTES:
        raise BrokenFrame(f"frame of {header_length} + {payload_length} bytes is over the limit")
    header = orjson.loads(await reader.readexactly(header_length))
    payload = await reader.readexactly(payload_length) if payload_length else b""
    return header, payload


def write_frame(
    writer: asyncio.StreamWriter, header: dict[str, Any], payload: bytes | memoryview = b""
) -> None:
    """Queue one frame on `writer`; the caller drains."""
    head = orjson.dumps(header)
    writer.write(_LENGTHS.pack(len(head), len(payload)) + head)
    if payload:
        writer.write(payload)
