"""Running a user's SELECT, bounded in time, rows and bytes."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from tracejury_collector.errors import SqlRefused
from tracejury_collector.store.database import Database
from tracejury_collector.store.sqlguard import check_select, refusal
from tracejury_collector.store.values import json_values
from tracejury_collector.store.watch import MEMORY, watched

LIMIT_S = 10.0
MAX_BYTES = 32 << 20
_BATCH_ROWS = 2048  # DuckDB's vectors: rows that are large come in no larger batches
Params = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryResult:
    """The first rows of an answer."""

    columns: list[tuple[str, str]]
    table: pa.Table
    truncated: bool
    elapsed_ms: float

    def rows(self) -> list[list[Any]]:
        """Return the rows as JSON can hold them; see `values.json_values`."""
        columns = [json_values(column) for column in self.table.columns]
        return [list(row) for row in zip(*columns, strict=True)]

    def to_csv(self) -> str:
        """Return the rows as CSV with a header; lists and objects are JSON text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow([name for name, _ in self.columns])
        writer.writerows([_cell(value) for value in row] for row in self.rows())
        return out.getvalue()

    def to_arrow(self) -> bytes:
        """Return the rows as an Arrow IPC stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return sink.getvalue().to_pybytes()


def run_select(
    db: Database,
    sql: str,
    params: Params = (),
    limit: int = 1000,
    *,
    limit_s: float = LIMIT_S,
    max_bytes: int = MAX_BYTES,
    memory_bytes: int = MEMORY,
) -> QueryResult:
    """Return the first `limit` rows of a SELECT over the stable views.

    Raises: SqlRefused when it is not allowed, does not run, or takes more than `limit_s` or
    `memory_bytes`.
    """
    checked = check_select(sql)
    checked.check_params(params)
    started = time.monotonic()
    with db.read() as cursor, watched(cursor, limit_s, memory_bytes) as watch:
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            cursor.execute(checked.sql, params or None)
            columns = [(str(c[0]), str(c[1])) for c in cursor.description or ()]
            table, truncated = fetch(cursor, limit, max_bytes)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if watch.fault:
                raise SqlRefused(watch.fault) from error
            if isinstance(error, duckdb.FatalException | duckdb.IOException):
                raise
            raise refusal(error, sql) from error
    return QueryResult(
        columns=columns,
        table=table,
        truncated=truncated,
        elapsed_ms=(time.monotonic() - started) * 1e3,
    )


def fetch(cursor: duckdb.DuckDBPyConnection, limit: int, max_bytes: int) -> tuple[pa.Table, bool]:
    """Return at most `limit` rows and about `max_bytes`, and whether there are more."""
    reader = cursor.to_arrow_reader(min(limit + 1, _BATCH_ROWS))
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows > limit or size > max_bytes:
            break
    table = pa.Table.from_batches(batches, schema=reader.schema)
    kept = _within(batches, max_bytes) if size > max_bytes else rows
    return table.slice(0, min(limit, kept)), rows > limit or kept < rows


def _within(batches: list[pa.RecordBatch], max_bytes: int) -> int:
    """Return how many of the rows fit, taking the last batch's rows as equally large."""
    last = batches[-1]
    before = sum(batch.nbytes for batch in batches[:-1])
    share = max(0.0, (max_bytes - before) / max(last.nbytes, 1))
    return sum(batch.num_rows for batch in batches[:-1]) + int(last.num_rows * share)


def _cell(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, list | dict) else value
