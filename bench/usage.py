"""What processes use: processor time of each, and the memory of all at its highest."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import psutil

EVERY_S = 0.25


class Usage(threading.Thread):
    """Watches named processes, each with all of its descendants, until it is left."""

    def __init__(self, processes: Callable[[], Mapping[str, psutil.Process]]) -> None:
        super().__init__(daemon=True)
        self._processes = processes
        self._left = threading.Event()
        self._looking = threading.Lock()
        self._cpu_s: dict[str, dict[tuple[int, float], float]] = {}
        self.peak_mb: dict[str, float] = {"all": 0.0}
        """Resident memory by name when that of all was highest, pages that are shared once."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        self.join()

    def run(self) -> None:
        """Look at the processes again and again."""
        while not self._left.wait(EVERY_S):
            with contextlib.suppress(psutil.Error):  # it has just ended
                self.look()

    def look(self) -> dict[str, float]:
        """Return the processor time of each process so far, in s."""
        with self._looking:
            return self._look()

    def _look(self) -> dict[str, float]:
        resident: dict[str, float] = {}
        for name, process in self._processes().items():
            below = [] if name == "supervisor" else _below(process)
            members = [process, *below]
            resident[name] = sum(map(resident_mb, members))
            times = self._cpu_s.setdefault(name, {})
            times.update(filter(None, map(_cpu_s, members)))
        resident["all"] = sum(resident.values())
        if resident["all"] > self.peak_mb["all"]:
            self.peak_mb = {name: round(size, 1) for name, size in resident.items()}
        return {name: sum(times.values()) for name, times in self._cpu_s.items()}


def per_10k(
    before: Mapping[str, float], after: Mapping[str, float], spans: int
) -> dict[str, float]:
    """Return what each process took for 10,000 spans between two looks, in s."""
    used = {name: (after[name] - before.get(name, 0.0)) * 1e4 / spans for name in after}
    return {"all": round(sum(used.values()), 3)} | {n: round(s, 3) for n, s in used.items()}


def _below(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def _cpu_s(process: psutil.Process) -> tuple[tuple[int, float], float] | None:
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return (process.pid, process.create_time()), times.user + times.system
    return None


def resident_mb(process: psutil.Process) -> float:
    """Return its share of the pages in memory; 0 for one that has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0
