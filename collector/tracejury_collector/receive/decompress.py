"""Request bodies, decompressed piece by piece and never past the limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator

import zstandard

from tracejury_collector.errors import MalformedRequest, TooLarge, UnsupportedMediaType

_PIECE_BYTES = 256 << 10
_MAX_MEMBERS = 10_000
_GZIP, _ZLIB, _RAW_DEFLATE = 31, 15, -15
_ZSTD_STEP_BYTES = 128  # of input, which can ask for 4 MiB of output
_ZSTD_WINDOW_BYTES = 8 << 20  # the largest that a sender may use (RFC 9659), held beside the output


def check_encoding(content_encoding: str) -> str:
    """Return the name of the compression.

    Raises: UnsupportedMediaType
    """
    name = content_encoding.strip().lower() or "identity"
    if name not in _READERS and name != "identity":
        raise UnsupportedMediaType(
            f"content encoding {content_encoding!r} is not spoken here; "
            f"use one of identity, {', '.join(_READERS)}"
        )
    return name


def decompress(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the decompressed body; `encoding` comes from `check_encoding`.

    Raises: TooLarge over `limit` bytes; MalformedRequest where the body is damaged.
    """
    if encoding == "identity":
        return _within(body, limit)
    pieces, size = [], 0
    try:
        for piece in _READERS[encoding](body):
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            pieces.append(piece)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise MalformedRequest(f"the body is not valid {encoding}: {error}") from None
    return b"".join(pieces)


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is over {limit} bytes when decompressed; send smaller batches")


def _gzip(body: bytes) -> Iterator[bytes]:
    """Yield the content of one or more gzip members."""
    for _ in range(_MAX_MEMBERS):
        body = yield from _inflate(body, _GZIP)
        if not body.strip(b"\0"):
            return
    raise TooLarge(f"the body has more than {_MAX_MEMBERS} gzip members; send fewer")


def _deflate(body: bytes) -> Iterator[bytes]:
    """Yield the content of a zlib stream; a bare deflate stream, which many send, is taken too."""
    has_header = len(body) >= 2 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0
    rest = yield from _inflate(body, _ZLIB if has_header else _RAW_DEFLATE)
    if rest:
        raise EOFError("something follows the end of the stream")


def _inflate(body: bytes, window: int) -> Generator[bytes, None, bytes]:
    """Yield the content of one stream; return what follows it."""
    stream = zlib.decompressobj(wbits=window)
    while not stream.eof:
        piece = stream.decompress(body, _PIECE_BYTES)
        body = stream.unconsumed_tail
        if not piece and not body and not stream.eof:
            raise EOFError("it ends too early")
        yield piece
    return stream.unused_data


def _zstd(body: bytes) -> Iterator[bytes]:
    """Yield the content of one or more zstd frames."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    stream = decompressor.decompressobj()
    position = members = 0
    while position < len(body):
        if stream.eof:
            members += 1
            if members >= _MAX_MEMBERS:
                raise TooLarge(f"the body has more than {_MAX_MEMBERS} zstd frames; send fewer")
            stream = decompressor.decompressobj()
        yield stream.decompress(body[position : position + _ZSTD_STEP_BYTES])
        position = min(position + _ZSTD_STEP_BYTES, len(body)) - len(stream.unused_data)
    if not stream.eof:
        raise EOFError("it ends too early")


_READERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
}
