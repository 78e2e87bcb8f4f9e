"""What a jury process is running right now, readable by the store even after its death.

One number in shared memory: no message could say as cheaply, and as surely after a crash or
under a held interpreter lock, which evaluator was running. 0 means none.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

_NUMBER = struct.Struct("=Q")


class Progress:
    """The shared number."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory

    @classmethod
    def create(cls, path: Path) -> Progress:
        """Return a new one in the file `path`, for the jury process."""
        path.write_bytes(_NUMBER.pack(0))
        return cls._map(path)

    @classmethod
    def attach(cls, path: Path) -> Progress:
        """Return the one in the file `path`, which has then served its purpose; for the store.

        Raises: OSError or ValueError if there is none.
        """
        progress = cls._map(path)
        path.unlink()
        return progress

    @classmethod
    def _map(cls, path: Path) -> Progress:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return cls(mmap.mmap(descriptor, _NUMBER.size))
        finally:
            os.close(descriptor)

    @property
    def run(self) -> int:
        """The number of the present run, 0 while nothing runs."""
        number: int = _NUMBER.unpack_from(self._memory)[0]
        return number

    def mark(self, run: int) -> None:
        """Say that this run begins; 0 that nothing runs."""
        _NUMBER.pack_into(self._memory, 0, run)

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()
