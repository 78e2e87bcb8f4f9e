"""The documents of other systems, found beside the repository; they are not part of it.

Their code is taken from the page where it stands, by the heading over it; only its import lines
are changed, by `IMPORTS`. Without the documents the tests that need them are skipped.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.doc_blocks import Block, read_blocks

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("TRACEJURY_SEEDS", ROOT.parent / "shared" / "seeds"))

ADAPTERS = "tracejury_evaluators.adapters"
IMPORTS = {
    "agentprobe.core.models": f"{ADAPTERS}.agentprobe",
    "agentprobe.eval.base": f"{ADAPTERS}.agentprobe",
    "agentprobe.plugins.base": f"{ADAPTERS}.agentprobe",
    "agentprobe.plugins.manager": f"{ADAPTERS}.agentprobe",
    "uipath.eval._helpers.evaluators_helpers": f"{ADAPTERS}.uipath",
    "uipath.eval.evaluators": f"{ADAPTERS}.uipath",
    "uipath.eval.evaluators.base_evaluator": f"{ADAPTERS}.uipath",
    "uipath.eval.models": f"{ADAPTERS}.uipath",
}
"""The modules of other systems, and the one of ours that has their names."""

DOCUMENTS = {
    "AgentProbe": "agentprobe-custom-evaluator-cookbook.md",
    "UiPath": "uipath-custom-python-evaluators.md",
    "AgentV": "agentv-custom-evaluators.md",
    "EvalStudio": "evalstudio-custom-connectors-and-evaluators.md",
}

# What the plugin that the documents use does: it runs tests that are coroutines.
_CONFTEST = """
import asyncio
import inspect

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "asyncio: the test is a coroutine")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**pyfuncitem.funcargs))
    return True
"""

_FROM = re.compile(r"^(\s*from )([\w.]+)( import )", re.MULTILINE)


def blocks_of(system: str) -> list[Block]:
    """The code blocks of a system's document; the test is skipped where it is not found."""
    path = FOLDER / DOCUMENTS[system]
    if not path.is_file():
        pytest.skip(f"the documents of other systems are not at {FOLDER}")
    return read_blocks(path.read_text(encoding="utf-8"))


def block(system: str, place: str) -> str:
    """The code under a heading: `Heading`, or `Heading (2)` for the second block there."""
    (found,) = [b for b in blocks_of(system) if b.place == place]
    return found.text


def with_our_imports(code: str) -> str:
    """The code with the modules of other systems changed to ours; nothing else is touched."""
    return _FROM.sub(lambda m: m[1] + IMPORTS.get(m[2], m[2]) + m[3], code)


def program(system: str, *places: str) -> str:
    """The code under these headings, one after the other, its imports changed."""
    return "\n\n".join(with_our_imports(block(system, place)) for place in places)


def as_coroutine(code: str, name: str) -> str:
    """Statements that await, made the body of a coroutine function that returns its variables."""
    body = "\n".join(f"    {line}" if line.strip() else line for line in code.splitlines())
    return f"\n\nasync def {name}(test_case, trace):\n{body}\n    return locals()\n"


def load(code: str, path: Path) -> ModuleType:
    """The code as a module of its own file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"seed_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run_pytest(path: Path) -> Sequence[str]:
    """The outcomes of the tests in a file, run by a pytest of their own, warnings as errors."""
    (path.parent / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-W", "error"]
    run = subprocess.run(
        [*command, f"--rootdir={path.parent}", "--strict-markers", "-v", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=path.parent,
        timeout=110,
    )
    outcomes: list[str] = re.findall(r"^(PASSED|FAILED|ERROR) ", run.stdout, re.MULTILINE)
    return outcomes or [run.stdout + run.stderr]
