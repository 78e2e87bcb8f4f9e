"""JavaScript packages for tests, installed with npm into a directory kept between runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_PROJECTS = Path(__file__).parents[1] / "e2e"


def installed_project(name: str = "js") -> Path:
    """Return a copy of tests/e2e/NAME with its packages installed; skips where there is no npm."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("npm and node are not installed here, and this test needs them")
    files = sorted(path for path in (_PROJECTS / name).iterdir() if path.is_file())
    key = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]
    target = Path(tempfile.gettempdir()) / f"tracejury-e2e-{name}-{os.getuid()}-{key}"
    if not target.exists():
        _install(files, target)
    return target


def _install(files: list[Path], target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        staging = Path(folder) / "project"
        staging.mkdir()
        for path in files:
            shutil.copy(path, staging)
        command = [
            "npm",
            "install",
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]
        done = subprocess.run(command, cwd=staging, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        try:
            staging.rename(target)
        except OSError:  # another run was quicker
            assert target.exists()
