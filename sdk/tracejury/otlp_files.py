"""Files with OTLP: found in folders, read whether compressed or not."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from tracejury.errors import TracejuryError
from tracejury.otlp_pieces import LINES_SUFFIXES, ZSTD, Damaged, Piece, Source, read_pieces

SUFFIXES: Final = frozenset((".json", ".pb", ".bin", ".binpb", ".proto", ".otlp", *LINES_SUFFIXES))
COMPRESSED: Final = frozenset((".gz", ".zst", ".zstd"))
_BUFFER_BYTES = 64 << 10
_ZSTD_STEP_BYTES = 512  # of input, which can ask for 16 MiB of output
_GZIP: Final = b"\x1f\x8b"

Told = Callable[[int], None]


def found_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files, and of folders the files in them that may hold OTLP, sorted, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        found.update(dict.fromkeys(_inside(path) if path.is_dir() else [path]))
    return [*found]


def _inside(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if Path(plain_name(path)).suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    )


def plain_name(path: Path) -> str:
    """Return the file's name without the suffix of its compression."""
    return path.stem if path.suffix.lower() in COMPRESSED else path.name


def pieces_of(path: Path, after: int = 0, advance: Told | None = None) -> Iterator[Piece]:
    """Yield the pieces of a file behind byte `after` of its decompressed content.

    `advance` is told the bytes that are read of the file itself.

    Raises: OSError where it cannot be read; TracejuryError where its compression is not installed.
    """
    with path.open("rb", buffering=0) as file:
        yield from read_pieces(content(Counted(file, advance)), plain_name(path), after)


def content(raw: io.RawIOBase) -> Source:
    """Return the content of a stream, decompressed if it is gzip or zstd.

    Raises: TracejuryError where its compression is not installed.
    """
    file = io.BufferedReader(raw, _BUFFER_BYTES)
    magic = file.peek(len(ZSTD))[: len(ZSTD)]
    if magic.startswith(_GZIP):
        return _Decompressed(gzip.GzipFile(fileobj=file), EOFError, zlib.error, gzip.BadGzipFile)
    return _zstd(file) if magic == ZSTD else file


def _zstd(file: BinaryIO) -> Source:
    try:
        import zstandard
    except ImportError:
        raise TracejuryError(
            "zstd cannot be read here; install it with 'pip install zstandard', or decompress "
            "the file with 'zstd -d'"
        ) from None
    start = zstandard.ZstdDecompressor().decompressobj
    return _Decompressed(_Pieces(_frames(file, start)), EOFError, zstandard.ZstdError)


def _frames(file: BinaryIO, start: Callable[[], Any]) -> Iterator[bytes]:
    """Yield what zstd's frames hold, piece by piece.

    Raises: EOFError where the last one is cut short.
    """
    stream, data, begun = start(), file.read(_ZSTD_STEP_BYTES), False
    while data:
        yield stream.decompress(data)
        if stream.eof:
            data = stream.unused_data
            stream = start()
            begun = bool(data)
        else:
            data, begun = b"", True
        data = data or file.read(_ZSTD_STEP_BYTES)
    if begun:
        raise EOFError("it ends too early")


class _Pieces(io.RawIOBase):
    """A stream of pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into the buffer; 0 bytes are the end."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


class _Decompressed:
    """Decompressed content that says `Damaged` where it cannot be read on."""

    def __init__(self, file: Any, *errors: type[Exception]) -> None:
        self._file = io.BufferedReader(file, _BUFFER_BYTES)
        self._errors = errors

    def read(self, size: int, /) -> bytes:
        return self._careful(self._file.read, size)

    def readline(self, limit: int, /) -> bytes:
        return self._careful(self._file.readline, limit)

    def _careful(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except self._errors as error:
            raise Damaged(f"cannot be decompressed any further: {error}") from error


class Counted(io.RawIOBase):
    """A stream that tells how much of it is read."""

    def __init__(self, file: BinaryIO | io.FileIO, advance: Told | None = None) -> None:
        self._file = file
        self._advance = advance

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read into the buffer and tell how much it was."""
        size: int | None = self._file.readinto(buffer)  # type: ignore[union-attr]
        if size and self._advance:
            self._advance(size)
        return size
