"""Bringing a database to the layout this code works with."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from importlib.resources import files

import duckdb

from tracejury_collector.errors import ConfigError

_log = logging.getLogger(__name__)

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")

_LEDGER = """
CREATE SCHEMA IF NOT EXISTS base;
CREATE TABLE IF NOT EXISTS base.schema_migrations (
    version INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
)
"""


@dataclass(frozen=True, kw_only=True)
class Migration:
    """One step of the layout: a file of statements, applied once."""

    version: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """Return all migrations, oldest first."""
    found = []
    for path in (files("tracejury_collector.store") / "migrations").iterdir():
        match = _FILE.fullmatch(path.name)
        if match:
            sql = path.read_text(encoding="utf-8")
            found.append(Migration(version=int(match[1]), name=match[2], sql=sql))
    return sorted(found, key=lambda migration: migration.version)


def migrate(connection: duckdb.DuckDBPyConnection, steps: list[Migration] | None = None) -> int:
    """Apply the missing migrations, each in a transaction, and return how many there were.

    Raises: ConfigError when the database was written by a newer release.
    """
    steps = migrations() if steps is None else steps
    connection.execute(_LEDGER)
    applied = {
        version
        for (version,) in connection.execute(
            "SELECT version FROM base.schema_migrations"
        ).fetchall()
    }
    unknown = applied - {step.version for step in steps}
    if unknown:
        raise ConfigError(
            f"the database has layout {max(unknown)}, this release knows up to "
            f"{steps[-1].version if steps else 0}; use a newer release of tracejury, "
            "or another database file (setting `storage`)"
        )
    missing = [step for step in steps if step.version not in applied]
    for step in missing:
        started_s = time.monotonic()
        if applied:
            _log.info(
                "bringing the database to layout %d of %d (%s); a long history takes minutes",
                step.version,
                steps[-1].version,
                step.name,
            )
        _apply(connection, step)
        if applied:
            _log.info("layout %d after %.1f s", step.version, time.monotonic() - started_s)
    if missing:
        connection.execute("CHECKPOINT")
    return len(missing)


def _apply(connection: duckdb.DuckDBPyConnection, step: Migration) -> None:
    connection.execute("BEGIN")
    try:
        connection.execute(step.sql)
        connection.execute(
            "INSERT INTO base.schema_migrations VALUES (?, ?, now()::TIMESTAMP)",
            [step.version, step.name],
        )
        connection.execute("COMMIT")
    except duckdb.Error:
        connection.execute("ROLLBACK")
        raise
