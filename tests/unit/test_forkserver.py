"""Processes that a forkserver makes are the supervisor's, as those that it starts afresh."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.helpers.service import eventually
from tracejury_collector.children import ChildSpec, Fork
from tracejury_collector.supervisor import Supervisor

ROOT = Path(__file__).parents[2]
ENVIRON = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
}


def forkserver(prepare: str = "prepare") -> ChildSpec:
    argv = (sys.executable, "-m", "tracejury_collector.forkserver")
    return ChildSpec(
        name="base",
        argv=(*argv, f"tests.helpers.forked:{prepare}", "base"),
        settings=b"",
        environ=ENVIRON,
        serves=True,
        stage=1,
    )


def forked(log: Path, code: str = "") -> ChildSpec:
    """Return a child that ends with this code at once; with "" when its input ends."""
    return ChildSpec(
        name="worker-1",
        argv=(sys.executable, "-m", "tests.helpers.forked", str(log)),
        settings=code.encode(),
        environ=ENVIRON,
        fork=Fork(server="base", call="tests.helpers.forked:main", args=(str(log),)),
    )


def lives(log: Path) -> list[dict[str, Any]]:
    """Return what each process of the child has found, first to last."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def named(name: str) -> psutil.Process:
    """Return the living child of this process that has the name."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.ZombieProcess):
            if child.cmdline()[-1:] == [name]:
                return child
    raise LookupError(name)


def supervise(specs: list[ChildSpec], script: Callable[[], None]) -> None:
    """Run the supervisor here while `script` runs beside it; raise what it raises."""
    raised: list[BaseException] = []
    ready = threading.Event()

    def run() -> None:
        try:
            assert ready.wait(20)
            script()
        except BaseException as error:  # noqa: BLE001 - raised below
            raised.append(error)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=run)
    thread.start()
    assert Supervisor(specs, ready.set).run() == 0
    thread.join()
    if raised:
        raise raised[0]


def test_a_fork_is_a_child_of_the_supervisor_and_has_what_it_was_given(tmp_path: Path) -> None:
    log = tmp_path / "log"
    given, other = os.pipe()
    server: list[int] = []

    def look() -> None:
        server.append(named("base").pid)

    supervise([forkserver(), replace(forked(log), settings=b"", fds=(given,))], look)
    os.close(given)
    os.close(other)
    (found,) = lives(log)
    assert found["parent"] == os.getpid()
    assert found["session"] == found["pid"]
    assert found["prepared_in"] == server
    assert found["arguments"] == [str(log)]
    assert found["title"].rstrip("\0") == "tracejury worker-1"
    status_fd = max(found["fds"])
    assert found["fds"] == sorted({0, 1, 2, given, status_fd})
    assert set(found["environ"]) <= {*ENVIRON, "TRACEJURY_STATUS_FD", "LC_CTYPE"}


def test_forks_are_replaced_also_when_the_forkserver_was_killed_with_them(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def replaced(*names: str) -> None:
        before = len(lives(log))
        for process in [named(name) for name in names]:
            process.kill()
        eventually(lambda: len(lives(log)) > before, "it is replaced")

    def kill_both() -> None:
        replaced("worker-1")
        replaced("base", "worker-1")

    supervise([forkserver(), forked(log)], kill_both)
    assert len({found["pid"] for found in lives(log)}) == 3
    assert not psutil.Process().children()


@pytest.mark.parametrize("code", ["0", "7"])
def test_the_exit_code_of_a_fork_is_known(
    tmp_path: Path, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log"
    specs = [forkserver(), forked(log, code)]
    supervise(specs, lambda: eventually(lambda: len(lives(log)) > 1, "it is started again"))
    assert f"worker-1 ended with {code}; restarting it" in caplog.text


def test_what_must_not_be_forked_is_started_afresh(tmp_path: Path) -> None:
    log = tmp_path / "log"
    supervise([forkserver("start_thread"), forked(log)], lambda: None)
    assert lives(log)[-1]["prepared_in"] == []
