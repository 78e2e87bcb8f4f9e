"""Finished revisions: which open traces may be due, and writing what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tracejury_collector.completion import Activity, CompletionPolicy
from tracejury_collector.store.columns import BIGINT, BOOLEAN, TEXT, arrow_table
from tracejury_collector.store.finished_ids import FinishedIds
from tracejury_collector.store.registered import registered
from tracejury_collector.store.rows import Revision
from tracejury_collector.store.session_revisions import ChangedSessionsWrite
from tracejury_collector.store.statements import statement

_INSERT = {
    "traces": "insert_traces",
    "tool_calls": "insert_tool_calls",
    "llm_calls": "insert_llm_calls",
    "messages": "insert_messages",
    "documents": "insert_documents",
    "decisions": "insert_decisions",
    "jobs": "insert_jobs",
    "sessions": "note_sessions",
}
_SUPERSEDE = (
    "supersede_traces",
    "supersede_tool_calls",
    "supersede_llm_calls",
    "supersede_messages",
    "supersede_documents",
    "supersede_results",
    "drop_superseded_jobs",
)
_DROP_DUPLICATES = {"spans": "drop_duplicate_spans", "logs": "drop_duplicate_logs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The current revision of a trace that was opened again; `session_id` "" is of no session."""

    trace_id: str
    revision: int
    first_seq: int
    last_seq: int
    root_ended: bool
    completed_at_ns: int
    project: str = ""
    session_id: str = ""

    @classmethod
    def of(cls, revision: Revision) -> Earlier:
        """Return what a revision is to the next one."""
        return cls(
            trace_id=revision.trace.trace_id,
            revision=revision.trace.revision,
            first_seq=revision.first_seq,
            last_seq=revision.last_seq,
            root_ended=revision.root_ended,
            completed_at_ns=revision.completed_at_ns,
            project=revision.project,
            session_id=revision.trace.session_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTrace:
    """A trace with arrivals that no finished revision holds."""

    activity: Activity
    project: str
    service_name: str
    first_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Which open traces to look at: last arrival, or first (`aged_ns`), not after these times.

    `imported_ns` is for what was imported without an ended root.
    """

    quiet_ns: int
    imported_ns: int
    idle_ns: int
    aged_ns: int
    now_ns: int
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """An open trace to be closed; `forced` if also when more has arrived since it was loaded.

    Exact duplicates among its arrivals are dropped.
    """

    opened: OpenTrace
    forced: bool
    duplicate_spans: Sequence[int] = ()
    duplicate_logs: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedBatch:
    """What one commit writes: every trace in it is closed, those with news have a revision.

    `tables` are the new rows by table, `again` the traces that had a revision before.
    `revised` are traces that were closed before and come out differently. `changed` says where the
    traces belong, None where no session is judged or a rule in force sees to it.
    """

    closing: Sequence[Closing]
    revised: frozenset[str] = frozenset()
    changed: pa.Table | None = None
    tables: Mapping[str, pa.Table]
    again: frozenset[str]


def due_traces(
    cursor: duckdb.DuckDBPyConnection,
    due: Due,
    reopened: Mapping[str, Earlier],
    policy: CompletionPolicy,
) -> list[OpenTrace]:
    """Return open traces that may be finished, longest quiet first; not those that are held."""
    bounds = {
        "quiet_ns": due.quiet_ns,
        "imported_ns": due.imported_ns,
        "idle_ns": due.idle_ns,
        "aged_ns": due.aged_ns,
        "now_ns": due.now_ns,
        "batch": due.batch,
        "reopened": orjson.dumps(_waits(reopened.values(), policy)).decode(),
    }
    rows = cursor.execute(statement("due_traces"), bounds).fetchall()
    return [open_trace(row, reopened.get(row[0])) for row in rows]


def _waits(reopened: Iterable[Earlier], policy: CompletionPolicy) -> list[tuple[str, bool, int]]:
    """Return what sets reopened traces apart: (trace id, root ended before, time held)."""
    waits = ((e.trace_id, e.root_ended, policy.hold_ns(e.revision)) for e in reopened)
    return [wait for wait in waits if wait[1] or wait[2]]


def open_trace(row: Sequence[object], earlier: Earlier | None) -> OpenTrace:
    """Return the open trace in a row of `due_traces` or `open_trace`."""
    (
        trace_id, project, service_name, first_seen_ns, last_seen_ns, first_seq, last_seq,
        root_seen, root_ended, marker_seen, span_count,
    ) = row  # fmt: skip
    activity = Activity(
        trace_id=str(trace_id),
        first_seen_ns=_int(first_seen_ns),
        last_seen_ns=_int(last_seen_ns),
        span_count=_int(span_count),
        root_seen=bool(root_seen),
        root_ended=bool(root_ended and root_seen),
        imported=bool(root_ended and not root_seen),
        marker_seen=bool(marker_seen),
        earlier_root_ended=earlier is not None and earlier.root_ended,
        revision=earlier.revision if earlier else 0,
    )
    return OpenTrace(
        activity=activity,
        project=str(project),
        service_name=str(service_name),
        first_seq=_int(first_seq),
        last_seq=_int(last_seq),
    )


def newly_reopened(
    cursor: duckdb.DuckDBPyConnection, finished: FinishedIds, after_seq: int
) -> tuple[int, list[Earlier]]:
    """Return (where the youngest open trace began, traces opened again after `after_seq`)."""
    opened = cursor.execute(statement("opened_after"), {"after_seq": after_seq}).fetchall()
    upto_seq = max((first_seq for _, first_seq in opened), default=after_seq)
    again = finished.among([trace_id for trace_id, _ in opened])
    if not again:
        return upto_seq, []
    ids = {"trace_ids": orjson.dumps(again).decode()}
    rows = cursor.execute(statement("earlier_revisions"), ids).fetchall()
    names = (
        *("trace_id", "revision", "first_seq", "last_seq", "root_ended", "completed_at_ns"),
        *("project", "session_id"),
    )
    return upto_seq, [Earlier(**dict(zip(names, row, strict=True))) for row in rows]


class FinishedWrite:
    """The write of a batch; prepared outside of the writer's thread, run inside of it."""

    def __init__(
        self,
        batch: FinishedBatch,
        tally: Callable[..., None],
        also: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    ) -> None:
        """Write `also` in the same commit."""
        self._batch = batch
        self._also = also
        self._tally = tally
        self._closing = _closing_table(batch.closing)

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> tuple[set[str], set[str]]:
        """Return the trace ids that were closed, and those of them that stay open with the rest.

        Traces that went on meanwhile are left alone, unless they are closed by force.
        """
        carried_over: set[str] = set()
        with registered(connection, closing=self._closing):
            rows = connection.execute(statement("kept_traces")).fetchall()
            kept = {row[0] for row in rows} | self._still_closed(connection)
            self._supersede(connection, kept)
            self._insert(connection, kept)
            if self._batch.changed is not None:
                ChangedSessionsWrite(traces=_only(self._batch.changed, kept))(connection)
            self._drop_duplicates(connection, kept)
        with registered(connection, closing=_only(self._closing, kept)):
            if any(c.forced for c in self._batch.closing):
                rows = connection.execute(statement("carry_over_traces")).fetchall()
                carried_over = {row[0] for row in rows}
            connection.execute(statement("close_traces"))
        if self._also is not None:
            self._also(connection)
        return kept, carried_over

    def _still_closed(self, connection: duckdb.DuckDBPyConnection) -> set[str]:
        """Return the revised traces that were not opened again meanwhile."""
        if not self._batch.revised:
            return set()
        rows = [(trace_id,) for trace_id in sorted(self._batch.revised)]
        with registered(connection, revised=arrow_table({"trace_id": TEXT}, rows)):
            opened = connection.execute(statement("still_open")).fetchall()
        return set(self._batch.revised - {row[0] for row in opened})

    def _supersede(self, connection: duckdb.DuckDBPyConnection, kept: set[str]) -> None:
        again = self._batch.again & kept
        if not again:
            return
        keys = self._batch.tables["traces"].select(["trace_id", "first_seq"])
        with registered(connection, superseding=_only(keys, set(again))):
            for name in _SUPERSEDE:
                connection.execute(statement(name))

    def _insert(self, connection: duckdb.DuckDBPyConnection, kept: set[str]) -> None:
        left = len(kept) < len(self._batch.closing) + len(self._batch.revised)
        for name, table in self._batch.tables.items():
            rows = _only(table, kept) if left else table
            if rows.num_rows:
                with registered(connection, **{f"new_{name}": rows}):
                    connection.execute(statement(_INSERT[name]))

    def _drop_duplicates(self, connection: duckdb.DuckDBPyConnection, kept: set[str]) -> None:
        for signal, name in _DROP_DUPLICATES.items():
            seqs = sorted(_duplicates(self._batch.closing, signal, kept))
            if not seqs:
                continue
            table = arrow_table({"seq": BIGINT}, [(seq,) for seq in seqs])
            bounds = {"first_seq": seqs[0], "last_seq": seqs[-1]}
            with registered(connection, **{f"duplicate_{signal}": table}):
                dropped = connection.execute(statement(name), bounds).fetchone()
            count = dropped[0] if dropped else 0
            self._tally(signal, stored=-count, duplicate=count)


def _only(table: pa.Table, kept: set[str]) -> pa.Table:
    """Return the rows about these traces."""
    column = "trace_id" if "trace_id" in table.column_names else "target_id"
    return table.filter(pc.is_in(table.column(column), pa.array(sorted(kept), pa.string())))


def _duplicates(closing: Iterable[Closing], signal: str, kept: set[str]) -> Iterator[int]:
    for item in closing:
        if item.opened.activity.trace_id not in kept:
            continue
        yield from item.duplicate_spans if signal == "spans" else item.duplicate_logs


def _closing_table(closing: Iterable[Closing]) -> pa.Table:
    columns = {
        "trace_id": TEXT,
        "last_seq": BIGINT,
        "forced": BOOLEAN,
    }
    rows = [
        (
            item.opened.activity.trace_id,
            item.opened.last_seq,
            item.forced,
        )
        for item in closing
    ]
    return arrow_table(columns, rows)


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
