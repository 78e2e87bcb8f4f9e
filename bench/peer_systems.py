"""The systems that are compared: how each is installed, started, and asked what it holds.

Each runs as its own documentation says for one machine: its default storage, its default number of
workers, without telemetry to its makers.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import psutil
from running import OPEN_TRACES, UNJUDGED_TRACES, free_ports, service

QUIET: Mapping[str, str] = {"DO_NOT_TRACK": "true", "OTEL_SDK_DISABLED": "true"}
READY_S = 600.0  # the first start of one of them migrates its database for minutes


@dataclass(frozen=True, kw_only=True)
class Running:
    """A system that takes spans: where to send them, and how to count what it holds."""

    url: str
    processes: Callable[[], Mapping[str, psutil.Process]]
    count: Callable[[], int]
    stored_bytes: Callable[[], int]
    stop: Callable[[], None]
    settle: Callable[[], None] = lambda: None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A system from PyPI; `{directory}` and ports `{port}`, `{second}`, `{third}` are filled in."""

    requirement: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: str
    headers: Mapping[str, str] = field(default_factory=dict)
    target: str = "port"
    counted: str
    stores: str
    count: Callable[[Path, int], int]

    @property
    def name(self) -> str:
        """The name of its distribution."""
        return self.requirement.partition("==")[0]


def rows_of(file: str) -> Callable[[Path, int], int]:
    """Return what counts the table `spans` of a SQLite database, as another reader sees it."""

    def count(directory: Path, _: int) -> int:
        uri = f"file:{directory / file}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=10)) as connection:
            found: int = connection.execute("SELECT count(*) FROM spans").fetchone()[0]
        return found

    return count


def spans_in_sessions(_: Path, port: int) -> int:
    """Return how many spans the sessions hold that agentevals lists."""
    url = f"http://127.0.0.1:{port}/api/streaming/sessions"
    with urllib.request.urlopen(url, timeout=60) as response:
        return sum(session["spanCount"] for session in json.load(response)["data"])


PEERS = (
    Peer(
        requirement="arize-phoenix==20.26.1",
        command=("phoenix", "serve"),
        environment={
            "PHOENIX_WORKING_DIR": "{directory}",
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": "{port}",
            "PHOENIX_GRPC_PORT": "{second}",
            "PHOENIX_TELEMETRY_ENABLED": "false",
            "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        },
        ready="/healthz",
        counted="rows of `spans` in its SQLite file",
        stores="SQLite",
        count=rows_of("phoenix.db"),
    ),
    Peer(
        requirement="mlflow==3.17.2",
        command=(
            *("mlflow", "server", "--host", "127.0.0.1", "--port", "{port}"),
            *("--backend-store-uri", "sqlite:///{directory}/mlflow.db"),
            *("--artifacts-destination", "{directory}/artifacts"),
        ),
        environment={"MLFLOW_DISABLE_TELEMETRY": "true"},
        ready="/health",
        headers={"x-mlflow-experiment-id": "0"},
        counted="rows of `spans` in its SQLite file",
        stores="SQLite",
        count=rows_of("mlflow.db"),
    ),
    Peer(
        requirement="agentevals-cli==0.11.0",
        command=(
            *("agentevals", "serve", "--headless", "--host", "127.0.0.1", "--port", "{port}"),
            *("--otlp-http-port", "{second}", "--otlp-grpc-port", "{third}"),
            *("--api-grpc-port", "0"),
        ),
        environment={},
        ready="/api/health",
        target="second",
        counted="`spanCount` of `GET /api/streaming/sessions`; it keeps the newest 100 sessions",
        stores="memory alone",
        count=spans_in_sessions,
    ),
)


@contextlib.contextmanager
def running_peer(peer: Peer, venv: Path) -> Iterator[Running]:
    """Start a peer out of its environment, with everything it writes in a directory of its own.

    Raises: TimeoutError, with the end of its log, when it does not become ready.
    """
    ports = dict(zip(("port", "second", "third"), free_ports(3), strict=True))
    with (
        tempfile.TemporaryDirectory(
            prefix=f"peer-{peer.name}-", ignore_cleanup_errors=True
        ) as name,
        (directory := Path(name)).joinpath("log").open("wb") as log,
    ):
        process = _started(peer, venv, {"directory": name, **ports}, directory, log)
        try:
            _await(f"http://127.0.0.1:{ports['port']}{peer.ready}", process, directory / "log")
            yield Running(
                url=f"http://127.0.0.1:{ports[peer.target]}/v1/traces",
                processes=lambda: {peer.name: psutil.Process(process.pid)},
                count=lambda: peer.count(directory, ports["port"]),
                stored_bytes=lambda: _bytes_below(directory, but=directory / "log"),
                stop=lambda: _stop(process),
                headers=peer.headers,
            )
        finally:
            _stop(process)


def _started(
    peer: Peer, venv: Path, names: Mapping[str, object], directory: Path, log: BinaryIO
) -> subprocess.Popen[bytes]:
    command = [part.format(**names) for part in peer.command]
    environment = {key: value.format(**names) for key, value in peer.environment.items()}
    return subprocess.Popen(
        [str(venv / "bin" / command[0]), *command[1:]],
        cwd=directory,
        env={**_plain_environment(venv), **QUIET, **environment, "HOME": str(directory)},
        stdout=log,
        stderr=subprocess.STDOUT,
    )


def tracejury(config: str, settled: str) -> Callable[[], AbstractContextManager[Running]]:
    """Return what starts the service of this tree; `settled` counts what it still has to do."""

    @contextlib.contextmanager
    def start() -> Iterator[Running]:
        with service(config) as running:
            yield Running(
                url=f"{running.http}/v1/traces",
                processes=running.processes,
                count=lambda: int(running.scalar("SELECT count(*) FROM spans")),
                stored_bytes=lambda: running.database.stat().st_size,
                stop=running.stop,
                settle=lambda: running.await_none(settled),
            )

    return start


SOON = "completion: {idle: 20s}\n"  # the end of sending cuts traces in two
OWN: Mapping[str, Callable[[], AbstractContextManager[Running]]] = {
    "tracejury": tracejury(f"rules: {{}}\n{SOON}", OPEN_TRACES),
    "tracejury, judging all": tracejury(SOON, UNJUDGED_TRACES),
}


def installed(peer: Peer, cache: Path) -> Path:
    """Return the environment that holds the peer, made with pip where it is not there yet."""
    venv = cache / peer.requirement.replace("==", "-")
    done = venv / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        environment = _plain_environment(venv)
        subprocess.run([*pip, peer.requirement], check=True, env=environment)
        done.touch()
    return venv


def _plain_environment(venv: Path) -> dict[str, str]:
    """Return the environment without what Python reads, the peer's programs first."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return kept | {"PATH": f"{venv / 'bin'}:{kept.get('PATH', '')}"}


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(url, timeout=5) as response,
        ):
            if response.status == 200:
                return
        time.sleep(0.5)
    raise TimeoutError(f"it did not start; the end of its log: {log.read_text()[-800:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a peer and everything it started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        below = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        for each in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    process.kill()
    process.wait(30)


def _bytes_below(directory: Path, but: Path) -> int:
    return sum(f.stat().st_size for f in directory.rglob("*") if f.is_file() and f != but)
