"""Compacts a database while spans arrive: how long it takes, for how long nothing is stored.

Usage: python bench/compacting.py FILE [--rate SPANS_PER_S] [--max-pause S] [--log FILE]. FILE
(see history.py) is written anew and keeps what arrives meanwhile; work on a copy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from running import LOAD, Service, service, target

from tracejury import Client
from tracejury.rest import Compaction

WARM_S = 5.0
LONGEST_S = 3600.0
SPANS_MEANWHILE = 100_000_000  # more than arrive: the load ends when it is told to


@contextmanager
def arriving(running: Service, rate: float) -> Iterator[subprocess.Popen[str]]:
    """Send spans at that rate until the context is left; then the figures can be read."""
    command = [sys.executable, str(LOAD), *target(running, "http"), "--spans", str(SPANS_MEANWHILE)]
    limits = ["--rate", str(rate), "--batch", "512", "--retry", "20", "--quiet"]
    sending = subprocess.Popen([*command, *limits], stdout=subprocess.PIPE, text=True)
    try:
        yield sending
    finally:
        sending.terminate()
        sending.wait(30)


def compacted(running: Service, max_pause_s: float) -> tuple[Compaction, float]:
    """Return what became of a compaction, and how many seconds it took."""
    started_s = time.monotonic()
    with Client(running.api) as client:
        found = client.compact(max_pause_s=max_pause_s)
        while found.state == "running" and time.monotonic() < started_s + LONGEST_S:
            time.sleep(0.5)
            found = client.compaction(found.id)
    return found, time.monotonic() - started_s


def seconds_of(running: Service) -> dict[str, float]:
    """Return the processor seconds of each process so far."""
    found = {}
    for name, process in running.processes().items():
        times = process.cpu_times()
        found[name] = round(times.user + times.system, 1)
    return found


def measure(file: Path, rate: float, max_pause_s: float) -> dict[str, Any]:
    """Return the figures of one compaction."""
    with service(storage=file) as running:
        before = running.scalar("SELECT count(*) FROM spans")
        with arriving(running, rate):
            time.sleep(WARM_S)
            found, took_s = compacted(running, max_pause_s)
            used = seconds_of(running)
        after = running.scalar("SELECT count(*) FROM spans")
    return {
        "spans_before": before,
        "spans_after": after,
        "state": found.state,
        "error": found.error,
        "seconds": round(took_s, 1),
        "rows_copied": found.rows_copied,
        "said_s": found.estimated_pause_s,
        "pause_s": found.pause_s,
        "mb_before": found.bytes_before >> 20,
        "mb_after": (found.bytes_after or 0) >> 20,
        "cpu_s": used,
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--max-pause", type=float, default=6)
    wanted = parser.parse_args()
    print(json.dumps(measure(wanted.file, wanted.rate, wanted.max_pause)))


if __name__ == "__main__":
    main()
