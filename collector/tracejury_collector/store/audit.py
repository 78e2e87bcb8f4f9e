"""The audit log: who changed what, appended to and never changed."""

from __future__ import annotations

import uuid
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any

import duckdb

from tracejury_collector.store.database import Database
from tracejury_collector.store.statements import statement

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One answered request that changes something; the key is None where there are no keys."""

    at_ns: int
    key_id: str | None
    key_name: str | None
    project: str | None
    method: str
    route: str
    target: str
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which changes a page holds; None does not filter. `before_*` name the last one seen."""

    key: str | None = None
    outcome: str | None = None
    since_ns: int | None = None
    before_ns: int | None = None
    before_id: str | None = None
    limit: int = 50


def record_change(db: Database, change: Change) -> Future[None]:
    """Append to the log; resolves once it is on disk.

    Raises: Unavailable
    """
    row = {**asdict(change), "audit_id": uuid.uuid4().hex}

    def write(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(statement("insert_audit"), row)

    return db.write(write)


def list_changes(db: Database, wanted: AuditFilter) -> list[Row]:
    """Return changes, newest first."""
    return db.rows("list_audit", asdict(wanted))
