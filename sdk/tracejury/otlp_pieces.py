"""OTLP in files, cut into pieces that fit a request.

Taken are JSON lines and length-prefixed messages, as the Collector's file exporter writes them,
one JSON document, and one protobuf message.

Source: opentelemetry-collector-contrib, exporter/fileexporter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import orjson

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
JSON_LINES: Final = "application/x-ndjson"
FRAMES: Final = "application/vnd.tracejury.otlp-frames"
"""Messages one after the other, each behind its length in four bytes, the highest first; a
message is protobuf or JSON, or one of them in zstd."""
LINES_SUFFIXES: Final = (".jsonl", ".ndjson")
REQUEST_BYTES = 4 << 20
MAX_PIECE_BYTES = 64 << 20
_HEAD_BYTES = 64 << 10
_SNIFFED_LINES = 5
_BLANK = b"\xef\xbb\xbf \t\r\n"
_LENGTH_BYTES = 4
ZSTD: Final = b"\x28\xb5\x2f\xfd"


class Damaged(Exception):
    """What was compressed cannot be read on."""


class Source(Protocol):
    """Where content is read from; both raise `Damaged`."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""
        ...

    def readline(self, limit: int, /) -> bytes:
        """Return the next line, at most `limit` bytes of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Part of a file: what to send, and where in its decompressed content it ends, in bytes.

    `first` is the number of its first line or message, from 1, and `count` how many it has. A
    piece with a `problem` cannot be sent.
    """

    content_type: str
    body: bytes
    first: int = 1
    count: int = 1
    end: int
    problem: str = ""


def read_pieces(source: Source, name: str = "", after: int = 0) -> Iterator[Piece]:
    """Yield the pieces of a file that end behind byte `after`, the end of an earlier piece.

    Lines and messages are gathered up to about 4 MiB; a document is one piece. `name` is that of
    the file, without the suffix of its compression.
    """
    content = _Content(source)
    kind = _kind(content.head(), name)
    if kind in (PROTOBUF, JSON):
        pieces = iter([_whole(content, kind)])
    else:
        pieces = _gathered(_lines(content) if kind == JSON_LINES else _frames(content), kind, after)
    last = 0
    for piece in pieces:
        last = piece.end
        if piece.end > after:
            yield piece
    if content.damage:
        yield Piece(content_type="", body=b"", count=0, end=last, problem=content.damage)


def unframed(body: bytes) -> Iterator[bytes]:
    """Yield the messages in whole frames."""
    position = 0
    while position < len(body):
        start = position + _LENGTH_BYTES
        position = start + int.from_bytes(body[position:start], "big")
        yield body[start:position]


class _Part(NamedTuple):
    """A line, or a message with its length before it; or what is wrong with so many bytes."""

    body: bytes
    size: int
    problem: str = ""


class _Content:
    """What is read of a file, the beginning of which can be looked at first."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._head = b""
        self.damage = ""

    def head(self) -> bytes:
        """Return the beginning of the content."""
        while len(self._head) < _HEAD_BYTES and (more := self._more(_HEAD_BYTES)):
            self._head += more
        return self._head

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer only at the end."""
        taken = [self._head[:size]]
        self._head = self._head[size:]
        left = size - len(taken[0])
        while left and (more := self._more(left)):
            taken.append(more)
            left -= len(more)
        return b"".join(taken)

    def line(self, limit: int) -> bytes:
        """Return the next line with its end, at most `limit` bytes of it."""
        end = self._head.find(b"\n") + 1 or len(self._head)
        taken = self.read(min(end, limit))
        if taken.endswith(b"\n") or len(taken) == limit:
            return taken
        return taken + self._more(limit - len(taken), line=True)

    def _more(self, size: int, *, line: bool = False) -> bytes:
        try:
            return self._source.readline(size) if line else self._source.read(size)
        except Damaged as damaged:
            self.damage = str(damaged)
            return b""


def _kind(head: bytes, name: str) -> str:
    """Return the content type that the name, or the beginning of the content, suggests."""
    if _is_framed(head):
        return FRAMES
    if name.lower().endswith(LINES_SUFFIXES):
        return JSON_LINES
    if not head.lstrip(_BLANK).startswith((b"{", b"[")):
        return PROTOBUF
    *lines, rest = head.split(b"\n", _SNIFFED_LINES)
    if not lines:
        return JSON
    return JSON_LINES if any(map(_is_object, [*lines[1:], rest])) or _is_object(lines[0]) else JSON


def _is_framed(head: bytes) -> bool:
    """Whether a length is followed by what a message begins with."""
    length = int.from_bytes(head[:_LENGTH_BYTES], "big")
    begun = head[_LENGTH_BYTES:].startswith((b"\x0a", b"{", ZSTD))
    return begun and 0 < length <= MAX_PIECE_BYTES


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line.lstrip(_BLANK)), dict)
    except orjson.JSONDecodeError:
        return False


def _whole(content: _Content, kind: str) -> Piece:
    body = content.read(MAX_PIECE_BYTES + 1)
    if len(body) <= MAX_PIECE_BYTES:
        return Piece(content_type=kind, body=body, end=max(1, len(body)))
    problem = f"is one document of more than {MAX_PIECE_BYTES >> 20} MiB; write it as lines"
    return Piece(content_type=kind, body=b"", end=len(body), problem=problem)


def _lines(content: _Content) -> Iterator[_Part]:
    while line := content.line(MAX_PIECE_BYTES + 1):
        if len(line) <= MAX_PIECE_BYTES:
            yield _Part(line, len(line))
            continue
        size = len(line)
        while not line.endswith(b"\n") and (line := content.line(MAX_PIECE_BYTES)):
            size += len(line)
        yield _Part(b"", size, f"is longer than {MAX_PIECE_BYTES >> 20} MiB")


def _frames(content: _Content) -> Iterator[_Part]:
    """Yield messages; behind what is none there is no way to find the next."""
    while prefix := content.read(_LENGTH_BYTES):
        length = int.from_bytes(prefix, "big")
        if len(prefix) < _LENGTH_BYTES or length > MAX_PIECE_BYTES:
            yield _Part(b"", len(prefix), "has no valid length; what follows cannot be read")
            return
        message = content.read(length)
        if len(message) < length:
            yield _Part(b"", len(prefix) + len(message), "is cut short")
            return
        yield _Part(prefix + message, len(prefix) + length)


def _gathered(parts: Iterator[_Part], kind: str, after: int) -> Iterator[Piece]:
    """Yield the parts behind byte `after`, gathered; each with a problem is a piece of its own."""
    bodies: list[bytes] = []
    size = end = number = 0

    def piece() -> Piece:
        count = len(bodies)
        body = b"".join(bodies)
        return Piece(content_type=kind, body=body, first=number - count + 1, count=count, end=end)

    for part in parts:
        if bodies and (part.problem or size + part.size > REQUEST_BYTES):
            yield piece()
            bodies, size = [], 0
        end += part.size
        number += 1
        if part.problem:
            yield Piece(content_type=kind, body=b"", first=number, end=end, problem=part.problem)
        elif end > after:
            bodies.append(part.body)
            size += part.size
    if bodies:
        yield piece()
