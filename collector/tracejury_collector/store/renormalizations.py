"""Requests to read history again, how far each has come, and what it reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import orjson
import pyarrow as pa

from tracejury_collector.canonical import COLUMNS
from tracejury_collector.completion import CompletedBy
from tracejury_collector.errors import TooLarge
from tracejury_collector.store import rows
from tracejury_collector.store.columns import BIGINT, DOUBLE, INTEGER, TEXT, Row, arrow_table
from tracejury_collector.store.database import Database
from tracejury_collector.store.loading import MAX_LOADED_BYTES
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

State = Literal["running", "done", "canceled", "failed"]

_INTEGERS = frozenset(name for name in COLUMNS if name.endswith("_tokens"))
_TYPES = {name: BIGINT if name in _INTEGERS else TEXT for name in COLUMNS} | {"cost_usd": DOUBLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Renormalization:
    """A request: which arrivals, by sequence number, and the one that is looked at next."""

    id: str
    requested_at_ns: int
    since_ns: int | None
    until_ns: int | None
    dry_run: bool
    first_seq: int
    last_seq: int
    next_seq: int
    state: State
    report: dict[str, Any]
    error: str | None = None
    ended_at_ns: int | None = None

    @property
    def done(self) -> float:
        """The share of the arrivals that were looked at."""
        total = self.last_seq - self.first_seq + 1
        return 1.0 if total <= 0 else (self.next_seq - self.first_seq) / total


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpan:
    """A span in the table: what it carries, and the canonical columns that it has."""

    seq: int
    name: str
    otel_kind: str
    attributes: dict[str, Any]
    events: Sequence[tuple[str, dict[str, Any]]]
    resource: dict[str, Any]
    scope_name: str
    canonical: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRevision:
    """A current revision, as far as assembly does not find it out."""

    trace_id: str
    revision: int
    first_seq: int
    last_seq: int
    project: str
    service_name: str
    root_ended: bool
    completed_by: CompletedBy
    completed_at_ns: int


def seqs_received(db: Database, since_ns: int | None, until_ns: int | None) -> tuple[int, int]:
    """Return the first and last sequence number of spans of this time; (0, -1) where none are."""
    with db.read() as cursor:
        bounds = {"since_ns": since_ns, "until_ns": until_ns}
        row = cursor.execute(statement("seqs_received"), bounds).fetchone()
    return (row[0], row[1]) if row and row[0] >= 0 else (0, -1)


def insert(db: Database, request: Renormalization) -> None:
    """Write a new request."""
    values = {
        "id": request.id,
        "requested_ns": request.requested_at_ns,
        "since_ns": request.since_ns,
        "until_ns": request.until_ns,
        "dry_run": request.dry_run,
        "first_seq": request.first_seq,
        "last_seq": request.last_seq,
        "next_seq": request.next_seq,
        "state": request.state,
        "report": orjson.dumps(request.report).decode(),
    }
    db.write(lambda c: c.execute(statement("insert_renormalization"), values)).result()


def cancel(db: Database, request_id: str, now_ns: int) -> None:
    """End a request that is running."""
    values = {"id": request_id, "now_ns": now_ns}
    db.write(lambda c: c.execute(statement("cancel_renormalization"), values)).result()


def find(
    db: Database, *, request_id: str | None = None, state: State | None = None
) -> list[Renormalization]:
    """Return the newest requests, at most 100, newest first."""
    return [
        Renormalization(**{**row, "report": orjson.loads(row["report"])})
        for row in db.rows("list_renormalizations", {"id": request_id, "state": state})
    ]


def load_spans(db: Database, first_seq: int, last_seq: int) -> list[StoredSpan]:
    """Return the spans between these sequence numbers.

    Raises: TooLarge where they are too many bytes to be in memory as objects.
    """
    with db.read() as cursor:
        bounds = {"first_seq": first_seq, "last_seq": last_seq}
        table = cursor.execute(statement("spans_to_renormalize"), bounds).to_arrow_table()
    if table.nbytes > MAX_LOADED_BYTES:
        raise TooLarge(f"{table.nbytes >> 20} MiB of spans are too many to read at a time")
    return [_span(values) for values in zip(*(c.to_pylist() for c in table.columns), strict=True)]


def _span(values: tuple[Any, ...]) -> StoredSpan:
    seq, _, name, otel_kind, attributes, events, resource, scope, *canonical = values
    found = orjson.loads(resource).get("attributes")
    return StoredSpan(
        seq=seq,
        name=name,
        otel_kind=otel_kind,
        attributes=orjson.loads(attributes),
        events=[(e["name"], e.get("attributes") or {}) for e in orjson.loads(events)],
        resource=found if isinstance(found, dict) else {},
        scope_name=str(orjson.loads(scope).get("name", "")),
        canonical=tuple(canonical),
    )


def load_revisions(
    db: Database, first_seq: int, last_seq: int, from_seq: int
) -> list[StoredRevision]:
    """Return the current revisions to assemble again with the page between these numbers."""
    bounds = {"first_seq": first_seq, "last_seq": last_seq, "from_seq": from_seq}
    return [StoredRevision(**row) for row in db.rows("traces_to_renormalize", bounds)]


def stored_rows(
    db: Database, revisions: Iterable[StoredRevision]
) -> dict[str, dict[str, list[Row]]]:
    """Return for each trace its rows by table, as `normal_rows` gives them."""
    wanted = arrow_table(
        {"trace_id": TEXT, "revision": INTEGER}, [(r.trace_id, r.revision) for r in revisions]
    )
    found: dict[str, dict[str, list[Row]]] = {}
    with db.read() as cursor, registered(cursor, wanted=wanted):
        for name in rows.COLUMNS:
            table = cursor.execute(statement(f"rows_of_{name}")).to_arrow_table()
            for trace_id, row in normal_rows(name, table):
                found.setdefault(trace_id, {}).setdefault(name, []).append(row)
    return found


def normal_rows(name: str, table: pa.Table) -> list[tuple[str, Row]]:
    """Return (trace id, row) in order of position; equal rows are equal whoever made the table."""
    names = compared_columns(name)
    order = ["trace_id", "position"] if "position" in names else ["trace_id"]
    schema = pa.schema([(column, _plain(rows.COLUMNS[name][column])) for column in names])
    plain = table.select(names).cast(schema).sort_by([(column, "ascending") for column in order])
    return [
        (row["trace_id"], tuple(_plain_value(row[column]) for column in names))
        for row in plain.to_pylist()
    ]


_OWN = frozenset({"revision", "completed_at", "superseded"})
"""Columns that tell one revision from the next even where nothing else does."""


def compared_columns(name: str) -> list[str]:
    """Return the columns in the order of `normal_rows`."""
    return [column for column in rows.COLUMNS[name] if column not in _OWN]


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def _plain_value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class RenormalizedWrite:
    """The write of one page: canonical columns that changed, and how far the request has come."""

    def __init__(
        self,
        request: Renormalization,
        spans: Sequence[tuple[int, tuple[Any, ...]]],
        now_ns: int,
    ) -> None:
        self._spans = arrow_table(
            {"seq": BIGINT, **_TYPES}, [(seq, *canonical) for seq, canonical in spans]
        )
        seqs = [seq for seq, _ in spans]
        self._bounds = {"first_seq": min(seqs, default=0), "last_seq": max(seqs, default=0)}
        self._progress = {
            "id": request.id,
            "next_seq": request.next_seq,
            "report": orjson.dumps(request.report).decode(),
            "error": request.error,
            "state": request.state,
            "now_ns": now_ns,
        }

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        if self._spans.num_rows:
            with registered(connection, renormalized=self._spans):
                connection.execute(statement("renormalize_spans"), self._bounds)
        connection.execute(statement("advance_renormalization"), self._progress)
