"""Builds the wheel with its busiest modules compiled, where `TRACEJURY_COMPILE=1` asks for it.

Without it the wheel is plain Python, and does the same more slowly: see docs/decisions/0047.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOTS = ("sdk", "evaluators", "collector")
"""The folders that packages lie in."""

COMPILED = (
    "sdk/tracejury/assemble.py",
    "sdk/tracejury/assembly/*.py",
    "sdk/tracejury/dialects/active.py",
    "sdk/tracejury/dialects/decode.py",
    "sdk/tracejury/dialects/index.py",
    "sdk/tracejury/dialects/plan.py",
    "sdk/tracejury/dialects/resolve.py",
    "collector/tracejury_collector/canonical.py",
    "collector/tracejury_collector/receive/columns.py",
    "collector/tracejury_collector/receive/records.py",
    "collector/tracejury_collector/receive/values.py",
    "collector/tracejury_collector/receive/wire.py",
    "collector/tracejury_collector/store/arrivals.py",
    "collector/tracejury_collector/store/rows.py",
)
"""What works span by span.

The loops over a request stay interpreted, because only there threads take turns; so does what goes
down as deep as a value nests, because compiled code ends with the process where interpreted code
raises RecursionError.
"""

NOT_COMPILED = ("sdk/tracejury/assembly/modelcall.py",)  # its cached properties need a __dict__


class CompilingHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles by mypyc, and puts what comes out beside the modules."""

    def dependencies(self) -> list[str]:
        """Return what a build needs besides hatchling."""
        return ["mypy>=2,<3", "setuptools>=65"] if _is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, where it is asked for and the wheel is not one that points at the sources."""
        if not _is_wanted() or version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        built = _compile(Path(self.root), Path(self._folder.name))
        build_data["force_include"].update({str(path): name for path, name in built.items()})
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, *_: Any) -> None:
        """Remove what the wheel holds by now."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def _is_wanted() -> bool:
    return os.environ.get("TRACEJURY_COMPILE", "") not in ("", "0")


def sources(root: Path) -> Iterator[Path]:
    """Yield the modules to compile, relative to the root."""
    left_out = {root / name for name in NOT_COMPILED}
    for pattern in COMPILED:
        for path in sorted(root.glob(pattern)):
            if path not in left_out:
                yield path.relative_to(root)


def _compile(root: Path, folder: Path) -> dict[Path, str]:
    """Return the compiled modules, and where each belongs in the wheel."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    os.environ["MYPYPATH"] = os.pathsep.join(str(root / name) for name in ROOTS)
    options = ["--explicit-package-bases", "--ignore-missing-imports", f"--cache-dir={folder}/mypy"]
    extensions = mypycify(
        [*options, *map(str, sources(root))], target_dir=str(folder / "c"), debug_level="0"
    )
    command = build_ext(Distribution({"name": "tracejury", "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.ensure_finalized()
    command.run()
    found = (path for path in Path(command.build_lib).rglob("*") if path.is_file())
    return {path: path.relative_to(command.build_lib).as_posix() for path in found}
