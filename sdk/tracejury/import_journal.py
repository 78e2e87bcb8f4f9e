"""How far files were imported, so that an import that was broken off goes on where it was.

A line of the journal is appended when the service has answered for a piece of a file. It names
the file by its path and its beginning, so that another file under the same name is not taken for
it, while one that grew is. Each database has a journal of its own.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import orjson

_HEAD_BYTES = 4096
_MAX_LINES = 10_000


class Journal:
    """The journal of one database, by its id; what cannot be written is told once, and let be."""

    def __init__(self, database: str, folder: Path | None = None) -> None:
        self._path = (folder or _folder()) / f"{database}.jsonl"
        self._done: dict[str, tuple[int, int, str]] = {}
        self.problem = ""
        self._read()

    def done(self, path: Path) -> int:
        """Return up to which byte of its decompressed content a file was imported."""
        end, size, head = self._done.get(str(path.resolve()), (0, 0, ""))
        return end if end and _head(path, size) == head else 0

    def note(self, path: Path, end: int) -> None:
        """Remember that a file was imported up to a byte of its decompressed content."""
        name, (size, head) = str(path.resolve()), _beginning(path)
        self._done[name] = end, size, head
        self._append((name, end, size, head))

    def _read(self) -> None:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                name, end, size, head = orjson.loads(line)
            except ValueError:  # empty, or torn by a kill
                continue
            self._done[name] = end, size, head
        if len(lines) > _MAX_LINES:
            self._shorten()

    def _shorten(self) -> None:
        shorter = self._path.with_suffix(".new")
        try:
            shorter.write_bytes(b"".join(_line((name, *at)) for name, at in self._done.items()))
            shorter.replace(self._path)
        except OSError as error:
            self.problem = str(error)

    def _append(self, row: tuple[str, int, int, str]) -> None:
        if self.problem:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                file.write(b"\n" + _line(row))  # on a line of its own, whatever was torn
        except OSError as error:
            self.problem = str(error)


def _line(row: tuple[str, int, int, str]) -> bytes:
    return orjson.dumps(row) + b"\n"


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "tracejury" / "imports"


def _beginning(path: Path) -> tuple[int, str]:
    """Return how many bytes of the file are looked at, and their hash."""
    size = min(path.stat().st_size, _HEAD_BYTES)
    return size, _head(path, size)


def _head(path: Path, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.blake2b(file.read(size), digest_size=16).hexdigest()
