"""Doing without pandas, which DuckDB and pyarrow look for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa

_NAME = "pandas"


class _Absent(MetaPathFinder):
    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> None:
        if name == _NAME:
            raise ModuleNotFoundError(f"{name} is not used here", name=name)


def do_without_pandas() -> None:
    """Have every import of pandas in this process fail at once.

    DuckDB tries one at each statement with parameters: where pandas is missing that takes longer
    than a short statement, where it is installed it takes 80 MB for nothing. pyarrow looks once,
    and takes the entry that stops DuckDB for the module itself; so it looks first.
    """
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    pa.array([None])
    sys.meta_path.remove(absent)
    sys.modules[_NAME] = None  # type: ignore[assignment]
