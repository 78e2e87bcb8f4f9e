"""How much memory processes take."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil

_EVERY_S = 0.2


def reset_peak(pid: int) -> int:
    """Let the peak of a process begin anew; return what it takes now, in bytes."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak_bytes(pid)


def peak_bytes(pid: int) -> int:
    """Return the most memory that the process held since then."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


class Watch(threading.Thread):
    """Sees how much a process and all it started take together; what they share counts once."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.most_bytes = 0
        self.parts: dict[str, int] = {}
        """What each process took of that."""
        self._root = psutil.Process(pid)
        self._ending = threading.Event()

    def run(self) -> None:
        """Look again and again until it is told to stop."""
        while not self._ending.wait(_EVERY_S):
            parts = self._parts()
            if sum(parts.values()) > self.most_bytes:
                self.most_bytes, self.parts = sum(parts.values()), parts

    def _parts(self) -> dict[str, int]:
        parts = {}
        with contextlib.suppress(psutil.Error):
            for process in [self._root, *self._root.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    name = " ".join(process.cmdline()[-2:])
                    parts[f"{name} {process.pid}"] = process.memory_full_info().pss
        return parts

    def end(self) -> None:
        """Stop looking."""
        self._ending.set()
        self.join(10)


@contextlib.contextmanager
def watching(pid: int) -> Iterator[Watch]:
    """Watch a process and all it started inside the block."""
    watch = Watch(pid)
    watch.start()
    try:
        yield watch
    finally:
        watch.end()
