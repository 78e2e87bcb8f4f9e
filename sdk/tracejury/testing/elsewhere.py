"""An evaluator's fingerprint as another process computes it, with hashes seeded otherwise."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from typing import Any

from tracejury.evaluator import Evaluator

TIMEOUT_S = 60.0
_PROGRAM = """
import importlib.util, json, sys
order = json.load(sys.stdin)
sys.path[:] = order["path"]
spec = importlib.util.spec_from_file_location(order["module"], order["file"])
module = sys.modules[order["module"]] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
found = module
for name in order["name"].split("."):
    found = getattr(found, name)
found = getattr(found, "evaluator_type", found)
found.source_hash = order["source_hash"]
print(found.model_validate(order["config"]).fingerprint())
"""


def fingerprint_elsewhere(evaluator: Evaluator[Any]) -> str | None:
    """The fingerprint; None where the class cannot be found there, being made inside a function."""
    cls = type(evaluator)
    module = inspect.getmodule(cls)
    file = getattr(module, "__file__", None)
    if file is None or "<" in cls.__qualname__ or cls.__module__ == "__main__":
        return None
    order = {
        "path": sys.path,
        "module": cls.__module__,
        "file": file,
        "name": cls.__qualname__,
        "source_hash": getattr(cls, "source_hash", ""),
        "config": evaluator.model_dump(mode="json", by_alias=True),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    return done.stdout.split()[-1] if done.returncode == 0 and done.stdout.split() else None
