"""What a jury process is running right now, readable by the store even after its death.

One number for each run that it can have under way, in shared memory: no message could say as
cheaply, and as surely after a crash or under a held interpreter lock, which evaluators were
running. 0 means none.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

_NUMBER = struct.Struct("=Q")


class Progress:
    """The shared numbers."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory

    @classmethod
    def create(cls, path: Path, slots: int = 1) -> Progress:
        """Return new ones in the file `path`, for the jury process."""
        path.write_bytes(bytes(_NUMBER.size * slots))
        return cls._map(path)

    @classmethod
    def attach(cls, path: Path) -> Progress:
        """Return those in the file `path`, which has then served its purpose; for the store.

        Raises: OSError or ValueError if there are none.
        """
        progress = cls._map(path)
        path.unlink()
        return progress

    @classmethod
    def _map(cls, path: Path) -> Progress:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            size_bytes = os.fstat(descriptor).st_size
            if size_bytes % _NUMBER.size:
                raise ValueError(f"{size_bytes} bytes are no whole numbers")
            return cls(mmap.mmap(descriptor, size_bytes))
        finally:
            os.close(descriptor)

    @property
    def slots(self) -> int:
        """How many runs can be under way."""
        return len(self._memory) // _NUMBER.size

    @property
    def runs(self) -> list[int]:
        """The numbers of the present runs, 0 where nothing runs."""
        return [number for (number,) in _NUMBER.iter_unpack(self._memory[:])]

    def mark(self, run: int, slot: int = 0) -> None:
        """Say that this run begins; 0 that nothing runs."""
        _NUMBER.pack_into(self._memory, slot * _NUMBER.size, run)

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()
