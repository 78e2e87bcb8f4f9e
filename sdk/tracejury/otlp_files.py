"""OTLP in files: protobuf, one JSON document, or JSON lines as the Collector writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import orjson

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
JSON_LINES = "application/x-ndjson"
REQUEST_BYTES = 4 << 20
_SUFFIXES = {
    ".pb": PROTOBUF,
    ".bin": PROTOBUF,
    ".binpb": PROTOBUF,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
}


def read_requests(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (content type, body) of the requests that carry the file.

    JSON lines are cut at line ends into requests of about 4 MiB; other files are sent whole.
    """
    with path.open("rb") as file:
        content_type = _SUFFIXES.get(path.suffix.lower()) or _sniff(file)
        if content_type == JSON_LINES:
            for body in _batches(file):
                yield JSON_LINES, body
        else:
            yield content_type, file.read()


def _sniff(file: BinaryIO) -> str:
    """Return the content type that the beginning of the file suggests."""
    head = file.read(64)
    file.seek(0)
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return PROTOBUF
    line = file.readline(REQUEST_BYTES)
    more = bool(file.read(1))
    file.seek(0)
    return JSON_LINES if more and _is_json(line) else JSON


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _batches(file: BinaryIO) -> Iterator[bytes]:
    batch: list[bytes] = []
    size = 0
    for line in file:
        if batch and size + len(line) > REQUEST_BYTES:
            yield b"".join(batch)
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield b"".join(batch)
