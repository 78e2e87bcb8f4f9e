"""Finished traces put straight into a database, for what reads them from there."""

from __future__ import annotations

from dataclasses import replace

import duckdb

from tracejury.trace import Trace
from tracejury_collector.store.database import Database
from tracejury_collector.store.registered import registered
from tracejury_collector.store.rows import Revision, RevisionRows
from tracejury_collector.store.statements import statement


def put(db: Database, *traces: Trace) -> None:
    """Write the traces as the current revisions of themselves."""
    rows = RevisionRows()
    for seq, trace in enumerate(traces, 1):
        revision = Revision(
            trace=replace(trace, service_name=trace.service_name or "tests"),
            first_seq=seq,
            last_seq=seq,
            project="tests",
            service_name="tests",
            root_ended=True,
            completed_by="root_ended",
            completed_at_ns=trace.end_ns,
        )
        rows.add(revision)

    def write(connection: duckdb.DuckDBPyConnection) -> None:
        for name, table in rows.tables().items():
            with registered(connection, **{f"new_{name}": table}):
                connection.execute(statement(f"insert_{name}"))

    db.write(write).result()
