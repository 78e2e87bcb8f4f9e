"""From Arrow to Arrow: the arrivals of finished traces to the rows of their revisions. Pure."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tracejury.assemble import assemble
from tracejury.codec import dump_trace
from tracejury.trace import Trace
from tracejury_collector.assembling.batch import (
    Assembled,
    Batch,
    Fact,
    Payload,
    Task,
    read_assembled,
    read_batch,
    write_assembled,
    write_batch,
)
from tracejury_collector.sampling import Draw
from tracejury_collector.store.arrivals import Arrivals, arrivals_in, by_trace
from tracejury_collector.store.rows import Revision, RevisionRows, joined
from tracejury_collector.upstream import upstream_probability

log = logging.getLogger(__name__)

MAX_DUMPED_BYTES = 32 << 20
OBJECT_SPANS = 200
"""Spans whose rows are objects at a time; as Arrow they take a tenth."""


class InProcess:
    """What the assembler makes of each batch, without the process: from bytes to bytes too."""

    lost = 0

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Assembled]:
        """Yield what is made of each batch."""
        for batch in batches:
            header, payload = write_batch(batch)
            yield read_assembled(answer(header, payload), batch)


def answer(header: Mapping[str, Any], payload: Payload) -> pa.Buffer:
    """Return the payload that answers a frame of the store.

    Raises: LookupError for a trace of which there is nothing.
    """
    return write_assembled(assemble_batch(read_batch(header, payload)))


def assemble_batch(batch: Batch) -> Assembled:
    """Return the revisions of a batch.

    Raises: LookupError for a trace of which there is nothing.
    """
    spans, logs = by_trace(batch.spans), by_trace(batch.logs)
    rows = RevisionRows()
    parts = [rows.tables()]
    facts: list[Fact] = []
    room_bytes = MAX_DUMPED_BYTES
    for task in batch.tasks:
        of_trace = _arrivals(spans.get(task.trace_id), logs.get(task.trace_id))
        revision = _revision(task, of_trace)
        dump = dumped(revision, batch.draws) if revision and room_bytes > 0 else None
        room_bytes -= len(dump or b"")
        if revision:
            rows.add(revision)
        if rows.spans > OBJECT_SPANS:
            parts.append(rows.tables())
            rows = RevisionRows()
        facts.append(_fact(task, of_trace, revision, dump))
    return Assembled(facts=facts, tables=joined([*parts, rows.tables()]))


def _arrivals(spans: pa.Table | None, logs: pa.Table | None) -> Arrivals:
    """Return what arrived of one trace; no other is made of objects at the same time."""
    (found,) = arrivals_in(spans, logs).values() or [Arrivals()]
    return found


def _revision(task: Task, arrivals: Arrivals) -> Revision | None:
    """Return the revision; None if only duplicates arrived since the one before."""
    seqs = [s.seq for s in arrivals.spans] + [r.seq for r in arrivals.logs]
    if not seqs:
        raise LookupError(f"nothing is stored of trace {task.trace_id}, which is to be finished")
    if max(seqs) <= task.known_seq:
        return None
    return Revision(
        trace=_trace(task, arrivals),
        first_seq=task.first_seq,
        last_seq=task.last_seq,
        project=task.project,
        service_name=task.service_name,
        root_ended=any(not s.parent_span_id and s.end_ns for s in arrivals.spans),
        completed_by=task.completed_by,
        completed_at_ns=task.completed_at_ns,
        upstream_probability=upstream_probability(arrivals.spans),
        former_ns=task.former_ns,
    )


def _trace(task: Task, arrivals: Arrivals) -> Trace:
    try:
        return assemble(arrivals.spans, arrivals.logs, revision=task.revision)
    except Exception as error:
        log.exception("trace %s cannot be assembled", task.trace_id)
        diagnostic = f"assembly failed: {type(error).__name__}: {error}"[:1000]
        return Trace(trace_id=task.trace_id, revision=task.revision, diagnostics=(diagnostic,))


def dumped(revision: Revision, draws: Sequence[Draw]) -> bytes | None:
    """Return the JSON of a trace that any of these samples can take."""
    trace = revision.trace
    wanted = any(draw.takes(trace.trace_id, revision.project, trace.session_id) for draw in draws)
    return dump_trace(trace) if wanted else None


def _fact(task: Task, arrivals: Arrivals, revision: Revision | None, dump: bytes | None) -> Fact:
    return Fact(
        trace_id=task.trace_id,
        has_news=revision is not None,
        root_ended=revision is not None and revision.root_ended,
        session_id=revision.trace.session_id if revision else "",
        duplicate_spans=arrivals.duplicate_spans,
        duplicate_logs=arrivals.duplicate_logs,
        dump=dump,
    )
