"""A service of the demo's own: free ports, a temporary database, gone at the end."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from queue import Empty, Queue

import yaml

from tracejury.errors import UnreachableError

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0
_READY = re.compile(r"OTLP/HTTP (?P<otlp>http://\S+), API (?P<api>http://\S+)")
_LOG_LINES = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoService:
    """A running service: where it listens, and its process."""

    api_url: str
    otlp_url: str
    process: subprocess.Popen[str]


@contextmanager
def run_service() -> Iterator[DemoService]:
    """Run `tracejury serve` for as long as the context lasts.

    Raises: UnreachableError with the end of its log if it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="tracejury-demo-") as directory:
        config, log = Path(directory) / "tracejury.yaml", Path(directory) / "service.log"
        config.write_text(demo_config(Path(directory) / "demo.duckdb"), encoding="utf-8")
        with log.open("wb") as log_file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tracejury", "serve", "--config", str(config)],
                stdout=subprocess.PIPE,
                stderr=log_file,
                text=True,
            )
        try:
            api_url, otlp_url = _await_ready(process, log)
            yield DemoService(api_url=api_url, otlp_url=otlp_url, process=process)
        finally:
            _stop(process)


def demo_config(database: Path) -> str:
    """Return the demo's configuration with its database in the file `database`."""
    text = (files("tracejury_collector.demo") / "demo.yaml").read_text(encoding="utf-8")
    return yaml.safe_dump({**yaml.safe_load(text), "storage": str(database)}, sort_keys=False)


def _await_ready(process: subprocess.Popen[str], log: Path) -> tuple[str, str]:
    """Return the addresses that the service announces."""
    lines: Queue[str] = Queue()
    threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
    try:
        while line := lines.get(timeout=START_TIMEOUT_S):
            if found := _READY.search(line):
                return found["api"], found["otlp"]
    except Empty:
        pass
    tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:])
    raise UnreachableError(f"the service did not start; the end of its log:\n{tail}")


def _read_lines(process: subprocess.Popen[str], lines: Queue[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put("")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
