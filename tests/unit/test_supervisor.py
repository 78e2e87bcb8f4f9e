from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from tests.helpers.service import eventually
from tracejury_collector.children import ChildSpec
from tracejury_collector.status import CANNOT_START, STATUS_FD_VARIABLE
from tracejury_collector.supervisor import Supervisor

CHILD = f"""
import os, signal, sys, time
log = sys.argv[1]
def note(word):
    with open(log, "a") as f:
        f.write(f"{{word}} {{os.getpid()}}\\n")
def stop(*_):
    note("stopped")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
note("started " + sys.stdin.readline().strip())
os.write(int(os.environ["{STATUS_FD_VARIABLE}"]), b"ready\\n")
time.sleep(60)
"""


def child(name: str, log: Path, *, code: str = CHILD, stage: int = 0) -> ChildSpec:
    argv = (sys.executable, "-c", code, str(log))
    return ChildSpec(
        name=name, argv=argv, settings=name.encode(), environ=os.environ, stage=stage, drain_s=5
    )


def lines(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def test_a_killed_child_is_replaced_and_a_stop_drains_low_stages_first(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ready = threading.Event()
    specs = [child("store", log, stage=2), child("receiver", log, stage=0)]

    def script() -> None:
        ready.wait(20)
        victim = next(int(line[2]) for line in lines(log) if line[1] == "store")
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: len(lines(log)) >= 3, "the store was started again")
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=script)
    thread.start()
    assert Supervisor(specs, ready.set).run() == 0
    thread.join()
    names = {line[2]: line[1] for line in lines(log) if line[0] == "started"}
    stopped = [names[line[1]] for line in lines(log) if line[0] == "stopped"]
    assert stopped == ["receiver", "store"]


def test_a_child_that_cannot_start_ends_the_service_with_its_code(tmp_path: Path) -> None:
    specs = [child("store", tmp_path / "log", code=f"raise SystemExit({CANNOT_START})")]
    started_s = time.monotonic()
    assert Supervisor(specs, lambda: None).run() == CANNOT_START
    assert time.monotonic() - started_s < 20
