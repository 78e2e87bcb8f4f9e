"""The SQL statements of the service, one file each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> str:
    """Return the text of `store/sql/NAME.sql`.

    Raises: KeyError for a name without a file.
    """
    path = files("tracejury_collector.store") / "sql" / f"{name}.sql"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KeyError(f"no statement is named {name!r}") from None
