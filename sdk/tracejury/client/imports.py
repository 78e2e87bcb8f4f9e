"""Bringing OTLP files in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tracejury.client.connection import AsyncConnection, Connection
from tracejury.client.request import Request, document
from tracejury.otlp_files import read_requests
from tracejury.rest import Imported

MESSAGES_KEPT = 20
Told = Callable[[int], None]


class FileImport(Connection):
    """Imports that wait for the service."""

    def import_file(
        self, path: Path, *, signal: str | None = None, progress: Told | None = None
    ) -> Imported:
        """Return what became of the spans in an OTLP file: protobuf, JSON or JSON lines.

        `signal` ("traces" or "logs") is needed for protobuf files of logs only.
        `progress` is told the bytes done after each request.

        Raises: OSError where the file cannot be read.
        """
        total = Imported(received=0, stored=0)
        for size, request in _requests(path, signal):
            total = _add(total, self.ask(request))
            if progress:
                progress(size)
        return total


class AsyncFileImport(AsyncConnection):
    """Imports that are awaited."""

    async def import_file(
        self, path: Path, *, signal: str | None = None, progress: Told | None = None
    ) -> Imported:
        """Return what became of the spans in an OTLP file; as `Client.import_file`."""
        total = Imported(received=0, stored=0)
        for size, request in _requests(path, signal):
            total = _add(total, await self.ask(request))
            if progress:
                progress(size)
        return total


def _requests(path: Path, signal: str | None) -> Iterator[tuple[int, Request[Imported]]]:
    """Yield the requests that bring a file in, each with its size in bytes.

    They may be repeated: what is stored already counts as duplicate.
    """
    for content_type, body in read_requests(path):
        yield (
            len(body),
            Request(
                method="POST",
                path="/api/traces/import",
                read=document(Imported),
                params={"signal": signal},
                headers={"content-type": content_type},
                content=body,
                repeat="if_refused",
            ),
        )


def _add(a: Imported, b: Imported) -> Imported:
    return Imported(
        received=a.received + b.received,
        stored=a.stored + b.stored,
        duplicate=a.duplicate + b.duplicate,
        rejected=a.rejected + b.rejected,
        messages=(a.messages + b.messages)[:MESSAGES_KEPT],
    )
