"""Frames between the service's processes over a Unix socket.

A frame is a header (JSON object) and a payload (bytes, Arrow IPC or JSON):
4 bytes header length, 8 bytes payload length (both big-endian), header, payload.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
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
    header_length, payload_length = _lengths(await reader.readexactly(_LENGTHS.size))
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


def send_frame(
    peer: socket.socket, header: dict[str, Any], payload: bytes | memoryview, deadline_s: float
) -> None:
    """Send one frame from a thread that may wait, until `deadline_s` of the monotonic clock.

    Raises: TimeoutError or another OSError when it was not sent whole.
    """
    head = orjson.dumps(header)
    peer.settimeout(_left_s(deadline_s))
    peer.sendall(_LENGTHS.pack(len(head), len(payload)) + head)
    peer.settimeout(_left_s(deadline_s))
    peer.sendall(payload)


def receive_frame(peer: socket.socket, deadline_s: float) -> tuple[dict[str, Any], bytearray]:
    """Return the next (header, payload), in a thread that may wait until `deadline_s`.

    Raises: EOFError when the peer has closed; TimeoutError; BrokenFrame on nonsense.
    """
    header_length, payload_length = _lengths(_received(peer, _LENGTHS.size, deadline_s))
    header = orjson.loads(_received(peer, header_length, deadline_s))
    return header, _received(peer, payload_length, deadline_s)


def _lengths(data: bytes | bytearray) -> tuple[int, int]:
    header_length, payload_length = _LENGTHS.unpack(data)
    if header_length > MAX_HEADER_BYTES or payload_length > MAX_PAYLOAD_BYTES:
        raise BrokenFrame(f"frame of {header_length} + {payload_length} bytes is over the limit")
    return header_length, payload_length


def _received(peer: socket.socket, length: int, deadline_s: float) -> bytearray:
    data = bytearray(length)
    rest = memoryview(data)
    while rest:
        peer.settimeout(_left_s(deadline_s))
        count = peer.recv_into(rest)
        if not count:
            raise EOFError("the peer has closed the connection")
        rest = rest[count:]
    return data


def _left_s(deadline_s: float) -> float:
    """Return the time until the deadline; never 0, which would mean not to wait at all."""
    return max(deadline_s - time.monotonic(), 0.001)
