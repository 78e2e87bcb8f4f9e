"""Bringing OTLP files in."""

from __future__ import annotations

from pathlib import Path

from tracejury.client.call import call
from tracejury.client.connection import AsyncConnection, Connection
from tracejury.client.request import Request, document
from tracejury.errors import ApiError
from tracejury.otlp_files import Told, pieces_of
from tracejury.otlp_pieces import FRAMES, JSON_LINES, Piece
from tracejury.rest import Imported

MESSAGES_KEPT = 20
NOTHING = Imported(received=0, stored=0)
_UNREADABLE = frozenset((400, 413))
_NOUNS = {JSON_LINES: "line", FRAMES: "message"}


class ImportCalls:
    """Pieces of OTLP files."""

    @call
    def import_piece(self, piece: Piece, *, signal: str | None = None) -> Request[Imported]:
        """Return what became of the spans in a piece of a file that has no problem.

        It may be sent again: what is stored already counts as duplicate.
        """
        return Request(
            method="POST",
            path="/api/traces/import",
            read=document(Imported),
            params={"signal": signal, "first": piece.first},
            headers={"content-type": piece.content_type},
            content=piece.body,
            repeat="if_lost",
        )


class FileImport(ImportCalls, Connection):
    """Imports that wait for the service."""

    def import_file(
        self, path: Path, *, signal: str | None = None, progress: Told | None = None
    ) -> Imported:
        """Return what became of the spans in an OTLP file, which may be gzip or zstd.

        Taken are protobuf, JSON, JSON lines, and messages behind their length, as the Collector's
        file exporter writes them. `signal` ("traces" or "logs") says what protobuf holds where
        that cannot be seen. `progress` is told the bytes of the file as they are read.

        Raises: OSError where the file cannot be read.
        """
        total = NOTHING
        for piece in pieces_of(path, advance=progress):
            total = added(total, self.import_or_tell(piece, signal=signal))
        return total

    def import_or_tell(self, piece: Piece, *, signal: str | None = None) -> Imported:
        """Return what became of a piece; one that cannot be read is counted as unreadable."""
        if piece.problem:
            return unreadable(piece, piece.problem)
        try:
            return self.import_piece(piece, signal=signal)
        except ApiError as error:
            return refused(piece, error)


class AsyncFileImport(ImportCalls, AsyncConnection):
    """Imports that are awaited."""

    async def import_file(
        self, path: Path, *, signal: str | None = None, progress: Told | None = None
    ) -> Imported:
        """Return what became of the spans in an OTLP file; as `Client.import_file`."""
        total = NOTHING
        for piece in pieces_of(path, advance=progress):
            total = added(total, await self.import_or_tell(piece, signal=signal))
        return total

    async def import_or_tell(self, piece: Piece, *, signal: str | None = None) -> Imported:
        """Return what became of a piece; as `Client.import_or_tell`."""
        if piece.problem:
            return unreadable(piece, piece.problem)
        try:
            return await self.import_piece(piece, signal=signal)
        except ApiError as error:
            return refused(piece, error)


def unreadable(piece: Piece, reason: str) -> Imported:
    """Return what is told of a piece that cannot be read."""
    place = f"{_NOUNS[piece.content_type]} {piece.first} " if piece.content_type in _NOUNS else ""
    count = max(1, piece.count)
    return Imported(received=0, stored=0, unreadable=count, messages=[f"{place}{reason}"])


def refused(piece: Piece, error: ApiError) -> Imported:
    """Return what is told of a piece that the service cannot read.

    Raises: ApiError, the same, where it is refused for another reason.
    """
    if error.status not in _UNREADABLE:
        raise error
    count = max(1, piece.count)
    return Imported(received=0, stored=0, unreadable=count, messages=[error.detail])


def added(a: Imported, b: Imported) -> Imported:
    """Return both together."""
    return Imported(
        received=a.received + b.received,
        stored=a.stored + b.stored,
        duplicate=a.duplicate + b.duplicate,
        rejected=a.rejected + b.rejected,
        unreadable=a.unreadable + b.unreadable,
        messages=(a.messages + b.messages)[:MESSAGES_KEPT],
        database=b.database or a.database,
    )
