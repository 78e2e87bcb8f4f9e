"""Files of somebody else: they are refused before anything is written to them."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tracejury_collector.errors import ConfigError
from tracejury_collector.store.opening import refuse_for_another_reason

_MAGIC = b"DUCK"
_MAGIC_PLACE = slice(8, 12)
_HEAD_BYTES = 16
_TABLES = """
    SELECT schema_name || '.' || table_name AS name FROM duckdb_tables()
    WHERE database_name = 'other' ORDER BY name
"""
_OURS = "base.schema_migrations"


def witness_of(path: str) -> str:
    """Return the file beside a database that says that it is one of this service."""
    return f"{path}.ledger"


def refuse_foreign(path: str) -> None:
    """Raise ConfigError when a file is there that this service has not written; it is only read.

    Raises: InUse or Unavailable when it cannot be read now.
    """
    file = Path(path)
    if Path(witness_of(path)).exists() or not file.exists() or not file.stat().st_size:
        return
    with file.open("rb") as opened:
        head = opened.read(_HEAD_BYTES)
    if head[_MAGIC_PLACE] != _MAGIC:
        raise ConfigError(_words(path, "is no DuckDB database"))
    tables = _tables(path)
    if tables and _OURS not in tables:
        raise ConfigError(_words(path, f"holds other tables ({', '.join(tables[:3])})"))


def _tables(path: str) -> list[str]:
    """Return the tables of a database, which stays as it is; none of one that is damaged."""
    quoted = path.replace("'", "''")
    with duckdb.connect(
        ":memory:",
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False},
    ) as connection:
        try:
            connection.execute(f"ATTACH '{quoted}' AS other (READ_ONLY)")
            return [name for (name,) in connection.execute(_TABLES).fetchall()]
        except duckdb.Error as error:
            refuse_for_another_reason(path, error)
            return []


def _words(path: str, what: str) -> str:
    return (
        f"{path!r} {what}, and was not written by tracejury; it stays as it is: "
        "use another file (setting `storage`), or move this one away"
    )
