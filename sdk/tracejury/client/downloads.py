"""Answers that are files: written as they come, whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import httpx

from tracejury.client.answers import reaching, refusal
from tracejury.client.connection import AsyncConnection, Connection
from tracejury.client.request import segment

Told = Callable[[int], None]
"""Is told how many bytes more are there."""
_QUIET_S = 120.0
"""A query may read much before it answers anything."""


class FileDownload(Connection):
    """Downloads that wait for the service."""

    def fetch_snapshot(self, snapshot_id: str, file: Path, *, progress: Told | None = None) -> None:
        """Write a snapshot that is done to `file`, which must not exist.

        Raises: OSError where the file cannot be written.
        """
        self._download(f"/api/snapshots/{segment(snapshot_id)}/file", {}, file, progress)

    def export(
        self,
        view: str,
        file: Path,
        *,
        where: str | None = None,
        since: str | None = None,
        until: str | None = None,
        progress: Told | None = None,
    ) -> None:
        """Write the rows of a view to `file`, which must not exist, as Parquet.

        Raises: OSError where the file cannot be written.
        """
        self._download(_export(view), _params(where, since, until), file, progress)

    def _download(
        self, path: str, params: dict[str, str], file: Path, progress: Told | None
    ) -> None:
        timeout = httpx.Timeout(self.http.timeout.connect, read=_QUIET_S)
        with (
            reaching(self.url),
            self.http.stream("GET", path, params=params, timeout=timeout) as response,
        ):
            if not response.is_success:
                response.read()
                raise refusal(response)
            with _written(file) as out:
                for chunk in response.iter_bytes():
                    _take(out, chunk, progress)


class AsyncFileDownload(AsyncConnection):
    """Downloads that are awaited."""

    async def fetch_snapshot(
        self, snapshot_id: str, file: Path, *, progress: Told | None = None
    ) -> None:
        """Write a snapshot to `file`; as `Client.fetch_snapshot`."""
        await self._download(f"/api/snapshots/{segment(snapshot_id)}/file", {}, file, progress)

    async def export(
        self,
        view: str,
        file: Path,
        *,
        where: str | None = None,
        since: str | None = None,
        until: str | None = None,
        progress: Told | None = None,
    ) -> None:
        """Write the rows of a view to `file`; as `Client.export`."""
        await self._download(_export(view), _params(where, since, until), file, progress)

    async def _download(
        self, path: str, params: dict[str, str], file: Path, progress: Told | None
    ) -> None:
        timeout = httpx.Timeout(self.http.timeout.connect, read=_QUIET_S)
        with reaching(self.url):
            async with self.http.stream("GET", path, params=params, timeout=timeout) as response:
                if not response.is_success:
                    await response.aread()
                    raise refusal(response)
                with _written(file) as out:
                    async for chunk in response.aiter_bytes():
                        _take(out, chunk, progress)


def _export(view: str) -> str:
    return f"/api/export/{segment(view)}.parquet"


def _params(where: str | None, since: str | None, until: str | None) -> dict[str, str]:
    given = {"where": where, "since": since, "until": until}
    return {name: value for name, value in given.items() if value is not None}


def _take(out: BinaryIO, chunk: bytes, progress: Told | None) -> None:
    out.write(chunk)
    if progress:
        progress(len(chunk))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def _written(file: Path) -> Iterator[BinaryIO]:
    """Give what becomes the file once all of it is there; else nothing is left.

    It is for its owner alone: it holds what agents were asked and answered. What a download that
    was killed has left is written over; what another one is writing is not.
    """
    part = file.with_name(f"{file.name}.part")
    with open(part, "ab", opener=_private) as out:
        _claim(out, part)
        try:
            yield out
            out.flush()
            _put(part, file)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _claim(out: BinaryIO, part: Path) -> None:
    """Take what is written to for this process alone, and empty.

    Raises: FileExistsError
    """
    try:
        fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise FileExistsError(errno.EEXIST, "another download is writing it", str(part)) from error
    out.truncate(0)


def _put(part: Path, file: Path) -> None:
    """Give the whole file its name, in the place of no other file.

    Raises: FileExistsError
    """
    try:
        file.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:  # file systems without links: the name is taken first, then replaced
        file.touch(mode=0o600, exist_ok=False)
        part.replace(file)
    else:
        part.unlink()
