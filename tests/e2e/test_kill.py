"""A service whose supervisor is killed leaves nothing behind."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

from tests.helpers.service import eventually, running_service


def test_killing_the_supervisor_takes_its_children_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        tempfile.TemporaryDirectory() as temporary,  # short: the path of a socket has a limit
        monkeypatch.context() as patch,
    ):
        patch.setenv("TMPDIR", temporary)
        _kill_supervisor_for_good(tmp_path)
        assert os.listdir(temporary) == []


def _kill_supervisor_for_good(directory: Path) -> None:
    with running_service(directory) as service:
        children = list(service.children().values())
        os.kill(service.process.pid, signal.SIGKILL)
        eventually(
            lambda: not any(child.is_running() for child in children),
            "no child survives its supervisor",
            log=service.log,
        )
