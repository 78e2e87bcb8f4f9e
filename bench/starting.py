"""How long the service's processes take to start, and to start again after they were killed."""

from __future__ import annotations

import contextlib
import time
import urllib.request
from typing import Any

import psutil
from running import Service, load, service, target
from usage import resident_mb


def starting() -> dict[str, Any]:
    """Measure a start: seconds, and of each process its processor seconds and its memory."""
    began = time.monotonic()
    with service() as running:
        took_s = time.monotonic() - began
        processes = running.processes()
        cpu_s = {name: _cpu_s(process) for name, process in processes.items()}
        size_mb = {name: round(resident_mb(each), 1) for name, each in processes.items()}
    return {
        "ready_s": round(took_s, 2),
        "cpu_s": {"all": round(sum(cpu_s.values()), 2), **cpu_s},
        "resident_mb": {"all": round(sum(size_mb.values()), 1), **size_mb},
    }


def recovery() -> dict[str, dict[str, float]]:
    """Measure after how many seconds an export is acknowledged again when a child was killed.

    Beside it stands the processor time that its successor took until then.
    """
    found = {}
    with service() as running:
        for name in ("receiver-1", "store", "assembler", "jury-1", "judge-1"):
            load(*target(running, "http"), "--spans", "5120")
            killed = running.processes()[name]
            killed.kill()
            began = time.monotonic()
            while running.processes().get(name) in (None, killed) or not answers(running):
                time.sleep(0.02)
            took_s = time.monotonic() - began
            cpu_s = _cpu_s(running.processes()[name])
            found[name] = {"seconds": round(took_s, 2), "cpu_s": cpu_s}
    return found


def answers(running: Service) -> bool:
    """Say whether the service is ready and acknowledges an empty export."""
    request = urllib.request.Request(
        f"{running.http}/v1/traces", b"{}", {"Content-Type": "application/json"}
    )
    with contextlib.suppress(OSError):
        running.get("/readyz")
        with urllib.request.urlopen(request, timeout=10) as response:
            return bool(response.status == 200)
    return False


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return round(times.user + times.system, 2)
