"""What a running service takes, minute by minute, and whether that grows."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, quantiles

import psutil

from tests.helpers.service import RunningService

MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one process takes: bytes of its own, with its share of what several have; handles."""

    rss: int
    pss: int
    fds: int
    threads: int


@dataclass(frozen=True, kw_only=True)
class Minute:
    """What was seen at one moment, and in the time before it."""

    at_s: float
    processes: dict[str, Taken]
    wal_bytes: int
    p99_s: float
    sent: int
    stored: int
    waiting: int

    def __str__(self) -> str:
        each = "  ".join(
            f"{name} {t.rss // MIB}/{t.pss // MIB} MiB {t.fds} fds {t.threads} thr"
            for name, t in sorted(self.processes.items())
        )
        return (
            f"{self.at_s:6.0f} s  sent {self.sent:>9,} stored {self.stored:>9,} waiting "
            f"{self.waiting:>6,} p99 {self.p99_s * 1000:5.0f} ms  wal {self.wal_bytes // MIB:>3} "
            f"MiB  pss {self.total('pss') // MIB} MiB | {each}"
        )

    def total(self, what: str) -> int:
        """Return what all processes take together."""
        return sum(getattr(taken, what) for taken in self.processes.values())


def taken_by(service: RunningService) -> dict[str, Taken]:
    """Return what each process takes now, by name."""
    found = {}
    own = psutil.Process(service.process.pid)
    for name, process in {"supervisor": own, **service.children()}.items():
        with contextlib.suppress(psutil.NoSuchProcess):
            memory = process.memory_full_info()
            found[name] = Taken(
                rss=memory.rss,
                pss=memory.pss,
                fds=process.num_fds(),
                threads=process.num_threads(),
            )
    return found


def wal_bytes(database: Path) -> int:
    """Return the size of the database's log."""
    log = database.with_name(f"{database.name}.wal")
    return log.stat().st_size if log.exists() else 0


def p99(latencies_s: Sequence[float]) -> float:
    """Return the 99th percentile; 0 for none."""
    return quantiles(latencies_s, n=100)[98] if len(latencies_s) > 1 else sum(latencies_s)


def slope(times_s: Sequence[float], values: Sequence[float]) -> float:
    """Return the growth per hour, by least squares."""
    middle_s, middle = fmean(times_s), fmean(values)
    spread = sum((at_s - middle_s) ** 2 for at_s in times_s)
    together = zip(times_s, values, strict=True)
    return 3600 * sum((at_s - middle_s) * (v - middle) for at_s, v in together) / spread


def growth(values: Sequence[float]) -> float:
    """Return by how much the median of the last quarter is above that of the first."""
    quarter = max(1, len(values) // 4)
    return median(values[-quarter:]) - median(values[:quarter])
