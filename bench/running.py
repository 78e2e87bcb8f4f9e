"""A running service with a database of its own, and the load generator."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

LOAD = Path(__file__).with_name("otlp_load.py")
LOAD_TIMEOUT_S = 900
OPEN_TRACES = "SELECT count(*) FROM traces WHERE status = 'open'"
UNJUDGED_TRACES = (
    f"SELECT ({OPEN_TRACES}) + (SELECT count(*) FROM decisions WHERE outcome = 'selected' "
    "AND target_id NOT IN (SELECT trace_id FROM scores_history))"
)


@dataclass(frozen=True)
class Service:
    """A running service and where to reach it."""

    process: subprocess.Popen[bytes]
    grpc: str
    http: str
    api: str
    database: Path

    def get(self, path: str) -> str:
        """Return the body of GET `path` of the API."""
        with urllib.request.urlopen(f"{self.api}{path}", timeout=30) as response:
            text: str = response.read().decode()
        return text

    def scalar(self, sql: str) -> Any:
        """Return the first value of a query through the SQL door."""
        body = json.dumps({"sql": sql}).encode()
        request = urllib.request.Request(
            f"{self.api}/api/sql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["rows"][0][0]

    def processes(self) -> dict[str, psutil.Process]:
        """Return the supervisor and its children by name."""
        parent = psutil.Process(self.process.pid)
        named = {"supervisor": parent}
        for child in parent.children():
            with contextlib.suppress(psutil.Error, IndexError):
                named[child.cmdline()[-1]] = child
        return named

    def await_none(self, question: str = OPEN_TRACES, timeout_s: float = 600) -> None:
        """Wait until the query counts nothing any more.

        Raises: TimeoutError.
        """
        deadline = time.monotonic() + timeout_s
        while left := self.scalar(question):
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {timeout_s} s there are still {left}: {question}")
            time.sleep(0.25)

    def stop(self) -> None:
        """Stop the service; its database is checkpointed after."""
        self.process.terminate()
        self.process.wait(60)


@contextlib.contextmanager
def service(config: str = "", storage: Path | None = None) -> Iterator[Service]:
    """Start the service on free ports with a temporary database, or with that in `storage`."""
    with tempfile.TemporaryDirectory(prefix="tracejury-bench-") as name:
        directory = Path(name)
        listen = [f"127.0.0.1:{port}" for port in free_ports(3)]
        database = storage.absolute() if storage else directory / "bench.duckdb"
        (directory / "tracejury.yaml").write_text(
            f"storage: {database}\n"
            f"listen: {{grpc: '{listen[0]}', otlp_http: '{listen[1]}', api: '{listen[2]}'}}\n"
            + config
        )
        command = [sys.executable, "-m", "tracejury.cli", "serve", "--config"]
        process = subprocess.Popen(
            [*command, str(directory / "tracejury.yaml")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running = Service(
            process, listen[0], f"http://{listen[1]}", f"http://{listen[2]}", database
        )
        try:
            await_ready(running)
            yield running
        finally:
            running.stop()


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def await_ready(running: Service, timeout_s: float = 120) -> None:
    """Wait until the service answers /readyz."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            running.get("/readyz")
            return
        time.sleep(0.1)
    raise TimeoutError("the service did not become ready")


def load(*arguments: str) -> dict[str, Any]:
    """Run the load generator and return its figures.

    Raises: subprocess.TimeoutExpired after `LOAD_TIMEOUT_S`.
    """
    done = subprocess.run(
        [sys.executable, str(LOAD), *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=LOAD_TIMEOUT_S,
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def target(running: Service, transport: str) -> list[str]:
    """Return the generator's arguments for a transport."""
    if transport == "grpc":
        return ["--grpc", running.grpc]
    return ["--url", f"{running.http}/v1/traces"]
