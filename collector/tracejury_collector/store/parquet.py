"""Rows of a view as Parquet, written piece by piece: no more than a row group is in memory."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from typing_extensions import Buffer

from tracejury_collector.errors import Forbidden, InvalidRequest, NotFound, SqlRefused, Unavailable
from tracejury_collector.store.database import Database
from tracejury_collector.store.reads import checked_where
from tracejury_collector.store.sqlallowed import VIEWS
from tracejury_collector.store.statements import statement
from tracejury_collector.store.watch import watched

GROUP_ROWS = 20_000
GROUP_BYTES = 16 << 20
LIMIT_S = 300.0
"""For a row group: a condition may pass over very many rows before it meets one."""
_BATCH_ROWS = 1024

TIMES: Final = {
    "spans": "received_at",
    "logs": "received_at",
    "traces": "start_time",
    "sessions": "start_time",
    "llm_calls": "start_time",
    "tool_calls": "start_time",
    "scores": "created_at",
    "scores_history": "created_at",
    "decisions": "decided_at",
    "labels": "created_at",
    "audit": "created_at",
    "runs": "created_at",
    "alert_deliveries": "created_at",
    "definitions": "effective_from",
    "pass_rates": "bucket",
    "unread_attributes": "last_seen",
}
"""The column that bounds in time are about, by view; the others have none."""


_OWN_TRACES: Final = statement("all_own_traces")
_OF_TRACE: Final = f"trace_id IN ({_OWN_TRACES})"
_OWN: Final = {
    **dict.fromkeys(
        ("spans", "logs", "traces", "llm_calls", "tool_calls", "messages", "documents"), _OF_TRACE
    ),
    "scores": f"target_kind = 'trace' AND {_OF_TRACE}",
    "scores_history": f"target_kind = 'trace' AND {_OF_TRACE}",
    "decisions": f"target_kind = 'trace' AND target_id IN ({_OWN_TRACES})",
    "labels": f"{_OF_TRACE} OR (trace_id IS NULL AND project = $project)",
}
"""Which rows of a view are of a project alone; of other views that cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows of a view; None does not filter. `until_ns` is excluded.

    `own` is the one project of which rows may be given; see `owning`.
    """

    view: str
    where: str | None = None
    own: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None


def parquet(db: Database, wanted: Wanted) -> Generator[bytes]:
    """Yield the pieces of a Parquet file with these rows, as they are at one moment.

    Raises: NotFound, Forbidden, InvalidRequest or SqlRefused before the first piece; SqlRefused or
    Unavailable later, where the rest cannot be read: then what was yielded is no file.
    """
    query = _query(wanted)
    with db.read() as cursor:
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        with _explained(cursor):
            reader = cursor.execute(query, _params(wanted)).to_arrow_reader(_BATCH_ROWS)
        sink = _Sink()
        into = pa.PythonFile(sink, mode="w")
        with pq.ParquetWriter(into, reader.schema, compression="zstd") as writer:
            while group := _group(cursor, reader):
                writer.write_table(pa.Table.from_batches(group), row_group_size=GROUP_ROWS)
                yield sink.taken()
        yield sink.taken()


def _group(cursor: duckdb.DuckDBPyConnection, reader: pa.RecordBatchReader) -> list[pa.RecordBatch]:
    """Return the next rows, as many as are written together; none at the end."""
    found: list[pa.RecordBatch] = []
    rows = size = 0
    with _explained(cursor):
        for batch in reader:
            found.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= GROUP_ROWS or size >= GROUP_BYTES:
                break
    return found


@contextmanager
def _explained(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Bound what the cursor does, and say what went wrong with it."""
    with watched(cursor, LIMIT_S) as watch:
        try:
            yield
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if watch.fault:
                raise SqlRefused(f"where: {watch.fault}") from error
            if isinstance(error, duckdb.FatalException | duckdb.IOException):
                raise
            if isinstance(error, duckdb.InterruptException | duckdb.ConnectionException):
                raise Unavailable("the database is being opened anew; export again") from error
            fault = str(error).split("\n\nLINE ")[0]
            raise SqlRefused(f"where: {fault}; correct the condition") from error


def _query(wanted: Wanted) -> str:
    """Return the SELECT; what comes from outside is checked, or a number."""
    if wanted.view not in VIEWS:
        raise NotFound(
            f"no view is named {wanted.view[:100]!r}; there are {', '.join(sorted(VIEWS))}"
        )
    conditions = [*_bounds(wanted), *_own(wanted)]
    if wanted.where is not None:
        conditions.append(f"({checked_where(wanted.where, wanted.view)}\n)")
    return f"SELECT * FROM main.{wanted.view} WHERE {' AND '.join(conditions) or 'true'}"


def _bounds(wanted: Wanted) -> Iterator[str]:
    bounds = {">=": wanted.since_ns, "<": wanted.until_ns}
    for sign, time_ns in bounds.items():
        if time_ns is None:
            continue
        if wanted.view not in TIMES:
            raise InvalidRequest(
                f"since: rows of {wanted.view!r} have no time of their own; choose them by "
                "trace_id with where"
            )
        yield f"{TIMES[wanted.view]} {sign} make_timestamp_ns({time_ns})"


def _own(wanted: Wanted) -> Iterator[str]:
    if wanted.own is None:
        return
    if wanted.view not in _OWN:
        raise Forbidden(
            f"rows of {wanted.view!r} cannot be told by project; a key of a project exports "
            f"{', '.join(sorted(_OWN))}"
        )
    yield f"({_OWN[wanted.view]})"


def _params(wanted: Wanted) -> dict[str, str]:
    return {} if wanted.own is None else {"project": wanted.own}


class _Sink(io.RawIOBase):
    """What a Parquet writer writes to; gives away what has come."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Buffer) -> int:
        """Take a piece."""
        self._pieces.append(bytes(data))
        return len(self._pieces[-1])

    def taken(self) -> bytes:
        """Return what has come since the last time."""
        taken, self._pieces = b"".join(self._pieces), []
        return taken
