"""Stock exporters of several versions and languages, each in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.node import installed_project
from tests.helpers.service import RunningService

PYTHON_VERSIONS = ("1.44.0", "1.45.2")
_SCRIPT = Path(__file__).with_name("exporting.py")
_PATIENCE_S = 120


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What an exporter says: spans that ended, and of those it took, what became of them."""

    ended: int
    acknowledged: int
    dropped: int


@dataclass(frozen=True, kw_only=True)
class Running:
    """An exporter at work."""

    name: str
    process: subprocess.Popen[str]

    def result(self) -> Exported:
        """Return what it says, once it has ended."""
        out, errors = self.process.communicate(timeout=_PATIENCE_S)
        assert self.process.returncode == 0, errors
        return Exported(**json.loads(out.splitlines()[-1]))


def commands() -> Mapping[str, Callable[[], tuple[list[str], Path]]]:
    """Return, by name, what runs each exporter, and where; the transport is the end of a name."""
    found: dict[str, Callable[[], tuple[list[str], Path]]] = {}
    for transport in ("http", "grpc"):
        for version in PYTHON_VERSIONS:
            found[f"python-{version}-{transport}"] = lambda v=version: (  # type: ignore[misc]
                [str(_python(v)), str(_SCRIPT)],
                _SCRIPT.parent,
            )
        found[f"javascript-{transport}"] = lambda: (["node", "stream.mjs"], installed_project())
    return found


def start(name: str, service: RunningService, seconds: float, rate: float) -> Running:
    """Start an exporter that sends as the service of its name."""
    command, folder = commands()[name]()
    transport = name.rpartition("-")[2]
    endpoint = service.grpc if transport == "grpc" else service.otlp_http
    process = subprocess.Popen(
        [*command, transport, endpoint, name, str(seconds), str(rate)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
    )
    return Running(name=name, process=process)


def _python(version: str) -> Path:
    """Return a Python with that version of OpenTelemetry, kept between runs."""
    folder = Path(tempfile.gettempdir()) / f"tracejury-otel-{version}-{os.getuid()}"
    python = folder / "bin" / "python"
    if folder.exists():
        return python
    staging = Path(tempfile.mkdtemp(dir=folder.parent))
    venv.create(staging, with_pip=True)
    wanted = [
        f"opentelemetry-{part}=={version}"
        for part in ("sdk", "exporter-otlp-proto-http", "exporter-otlp-proto-grpc")
    ]
    command = [str(staging / "bin" / "python"), "-m", "pip", "install", "-q", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(staging)
        pytest.skip(f"OpenTelemetry {version} cannot be installed here: {done.stderr[-300:]}")
    staging.rename(folder)
    assert sys.version_info >= (3, 11)
    return python
