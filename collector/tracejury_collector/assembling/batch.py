"""What the store asks of the assembler, and what it is given: Arrow tables and a few facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import pyarrow as pa

from tracejury_collector.completion import CompletedBy
from tracejury_collector.sampling import Draw
from tracejury_collector.store.columns import BIGINT, BOOLEAN, INTEGER, TEXT, arrow_table
from tracejury_collector.store.rows import COLUMNS

Payload = bytes | bytearray | pa.Buffer

_TASK = {
    "trace_id": TEXT,
    "revision": INTEGER,
    "known_seq": BIGINT,
    "first_seq": BIGINT,
    "last_seq": BIGINT,
    "project": TEXT,
    "service_name": TEXT,
    "completed_by": TEXT,
    "completed_at_ns": BIGINT,
    "former_ns": BIGINT,
}
_FACT = {
    "trace_id": TEXT,
    "has_news": BOOLEAN,
    "root_ended": BOOLEAN,
    "session_id": TEXT,
    "duplicate_spans": pa.list_(BIGINT),
    "duplicate_logs": pa.list_(BIGINT),
    "dump": pa.large_binary(),
}
_FACT_SCHEMA = pa.schema(_FACT)
_SCHEMAS = {name: pa.schema(columns) for name, columns in COLUMNS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A trace to assemble, and what only the store knows of its next revision.

    Arrivals up to `known_seq` were in the revision before, which was finished at `former_ns`;
    -1 and 0 for a first one.
    """

    trace_id: str
    revision: int
    known_seq: int
    first_seq: int
    last_seq: int
    project: str
    service_name: str
    completed_by: CompletedBy
    completed_at_ns: int
    former_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Traces to assemble; `spans` and `logs` are their arrivals as `store.loading` reads them.

    Those that any of `draws` takes may be judged: their JSON is wanted.
    """

    tasks: Sequence[Task]
    draws: Sequence[Draw]
    spans: pa.Table
    logs: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What the store keeps of an assembled trace beside its rows.

    Without news, only duplicates have arrived since the revision before, and there are no rows.
    `dump` is its JSON, None where that is not wanted.
    """

    trace_id: str
    has_news: bool
    root_ended: bool
    session_id: str
    duplicate_spans: Sequence[int]
    duplicate_logs: Sequence[int]
    dump: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A fact for each task, in their order, and the rows of all of them by table."""

    facts: Sequence[Fact]
    tables: Mapping[str, pa.Table]


def write_batch(batch: Batch) -> tuple[dict[str, Any], pa.Buffer]:
    """Return a batch as header and payload of a frame."""
    tasks = arrow_table(_TASK, [astuple(task) for task in batch.tasks])
    header = {"op": "assemble", "draws": [asdict(draw) for draw in batch.draws]}
    return header, _streams([tasks, batch.spans, batch.logs])


def read_batch(header: Mapping[str, Any], payload: Payload) -> Batch:
    """Return the batch in a frame of the store."""
    tasks, spans, logs = _tables(payload, 3)
    return Batch(
        tasks=[Task(**row) for row in tasks.to_pylist()],
        draws=[Draw(**draw) for draw in header["draws"]],
        spans=spans,
        logs=logs,
    )


def write_assembled(assembled: Assembled) -> pa.Buffer:
    """Return what was assembled as the payload of a frame."""
    facts = arrow_table(_FACT, [astuple(fact) for fact in assembled.facts])
    return _streams([facts, *(assembled.tables[name] for name in COLUMNS)])


def read_assembled(payload: Payload, batch: Batch) -> Assembled:
    """Return what was made of a batch.

    Raises: ValueError where the payload is no answer to it.
    """
    facts, *tables = _tables(payload, 1 + len(COLUMNS))
    named = dict(zip(COLUMNS, tables, strict=True))
    is_expected = facts.schema.equals(_FACT_SCHEMA) and all(
        table.schema.equals(_SCHEMAS[name]) for name, table in named.items()
    )
    if not is_expected:
        raise ValueError("the assembler answered with tables of another shape")
    found = [Fact(**row) for row in facts.to_pylist()]
    if [fact.trace_id for fact in found] != [task.trace_id for task in batch.tasks]:
        raise ValueError("the assembler answered with other traces than it was asked for")
    return Assembled(facts=found, tables=named)


def _streams(tables: Sequence[pa.Table]) -> pa.Buffer:
    """Return the tables as Arrow IPC streams, one after the other."""
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


def _tables(payload: Payload, count: int) -> list[pa.Table]:
    source = pa.BufferReader(pa.py_buffer(payload))
    return [pa.ipc.open_stream(source).read_all() for _ in range(count)]
