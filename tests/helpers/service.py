"""A real service in its own processes, for end-to-end tests."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.helpers.databases import lay_out
from tracejury_collector.files import folder_bytes

FAST = "completion: {after_root: 300ms, idle: 1s, tick: 50ms}\n"


@dataclass
class RunningService:
    """A service started by `running_service`."""

    process: subprocess.Popen[bytes]
    config: Path
    grpc: str
    otlp_http: str
    api: str
    database: Path
    log_path: Path
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=15))

    def get(self, path: str, **params: Any) -> Any:
        """Return the JSON of GET `path`, over what was acknowledged before."""
        settle(self.database)
        response = self.client.get(f"{self.api}{path}", params=params)
        response.raise_for_status()
        return response.json()

    def sql(self, query: str) -> list[list[Any]]:
        """Return the rows of a query through the SQL door, of what was acknowledged before."""
        settle(self.database)
        response = self.client.post(f"{self.api}/api/sql", json={"sql": query, "limit": 100_000})
        assert response.status_code == 200, response.text
        rows: list[list[Any]] = response.json()["rows"]
        return rows

    def children(self) -> dict[str, psutil.Process]:
        """Return the child processes by name: store, receiver-1, jury-1, …"""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.Error, IndexError):
                found[child.cmdline()[-1]] = child
        return found

    def is_ready(self) -> bool:
        """Say whether /readyz answers 200."""
        with contextlib.suppress(httpx.HTTPError):
            return self.client.get(f"{self.api}/readyz").status_code == 200
        return False

    def restart(self) -> None:
        """Start the service again, at once, after its supervisor was killed."""
        self.process.wait(20)
        self.process = start(self.config, self.log_path)

    def log(self) -> str:
        """Return what the service has logged so far."""
        return self.log_path.read_text()


def start(config: Path, log_path: Path) -> subprocess.Popen[bytes]:
    """Start `tracejury serve`; its log is appended to the file."""
    with log_path.open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tracejury.cli", "serve", "--config", str(config)],
            stdout=subprocess.DEVNULL,
            stderr=log,
        )


@contextlib.contextmanager
def running_service(
    directory: Path, config: str = FAST, *, key: str | None = None
) -> Iterator[RunningService]:
    """Start `tracejury serve` on free ports with a database in `directory`.

    The database is laid out before, if there is none. `key` is what the test's own requests come
    with.
    """
    listen = [f"127.0.0.1:{port}" for port in free_ports(3)]
    database = directory / "tracejury.duckdb"
    lay_out(database)
    file = directory / "tracejury.yaml"
    addresses = {"grpc": listen[0], "otlp_http": listen[1], "api": listen[2]}
    file.write_text(f"storage: {database}\nlisten: {json.dumps(addresses)}\n{config}")
    log_path = directory / "service.log"
    service = RunningService(
        start(file, log_path),
        file,
        listen[0],
        f"http://{listen[1]}",
        f"http://{listen[2]}",
        database,
        log_path,
    )
    service.client.headers.update({"x-api-key": key} if key else {})
    try:
        eventually(service.is_ready, "the service is ready", timeout_s=90, log=service.log)
        yield service
    finally:
        service.client.close()
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(20)


def settle(database: Path, timeout_s: float = 2) -> None:
    """Wait until the database holds all that is in the journal; under load that is never so."""
    folder = Path(f"{database}.journal")
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s and folder_bytes(folder):
        time.sleep(0.005)


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def eventually(
    condition: Callable[[], object],
    what: str,
    *,
    timeout_s: float = 20,
    log: Callable[[], str] = str,
) -> None:
    """Wait until `condition()` is true.

    Raises: AssertionError naming what did not come true, with the end of the log.
    """
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"not within {timeout_s} s: {what}\n{log()[-4000:]}")
        time.sleep(0.05)


def pid_of(service: RunningService, name: str) -> int | None:
    """Return the process id of a child, if it lives."""
    child = service.children().get(name)
    return child.pid if child else None


def kill(service: RunningService, name: str) -> None:
    """Kill a process and wait until it is replaced: a child by the supervisor, which by us."""
    if name == "supervisor":
        service.process.kill()
        service.restart()
        return
    eventually(lambda: pid_of(service, name), f"{name} lives", log=service.log)
    killed = pid_of(service, name)
    assert killed
    os.kill(killed, signal.SIGKILL)
    eventually(
        lambda: pid_of(service, name) not in (None, killed),
        f"{name} is replaced",
        log=service.log,
    )
