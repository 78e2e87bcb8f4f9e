"""Assembled traces for the jury: fresh ones from memory, others assembled again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from tracejury.assemble import assemble
from tracejury.codec import dump_trace
from tracejury_collector.jury.jobs import Job
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import PendingJob
from tracejury_collector.store.loading import SeqRange, load_arrivals

CACHE_BYTES = 32 << 20
_READ_AHEAD = 16

TraceKey = tuple[str, int]


class TraceSource:
    """Gives traces as JSON; keeps a bounded number of bytes of those that were just finished."""

    def __init__(self, db: Database, limit_bytes: int = CACHE_BYTES) -> None:
        self._db = db
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._ahead = _READ_AHEAD
        self._kept: OrderedDict[TraceKey, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def fetch(self, jobs: Sequence[Job], limit_bytes: int) -> tuple[int, dict[TraceKey, bytes]]:
        """Return (n, the traces of the first n jobs): as many as fit, at least one.

        Raises: Unavailable or duckdb.Error when the database cannot be read now.
        """
        found: dict[TraceKey, bytes] = {}
        size_bytes = 0
        for taken, job in enumerate(jobs):
            if taken and size_bytes >= limit_bytes:
                self._ahead = 1  # what was read in vain is read again: go by single large traces
                return taken, found
            if job.pending.trace_key not in found:
                found.update(self._next(jobs[taken : taken + self._ahead], found))
                size_bytes = sum(map(len, found.values()))
                self._ahead = min(self._ahead * 2, _READ_AHEAD)
        return len(jobs), found

    def _next(self, jobs: Iterable[Job], known: Mapping[TraceKey, bytes]) -> dict[TraceKey, bytes]:
        """Return the traces of these jobs that are not known yet."""
        wanted = {j.pending.trace_key: j.pending for j in jobs if j.pending.trace_key not in known}
        with self._lock:
            found = {key: self._kept[key] for key in wanted if key in self._kept}
        missing = {key: job for key, job in wanted.items() if key not in found}
        return found | self._assemble(missing) if missing else found

    def offer(self, key: TraceKey, data: bytes) -> None:
        """Keep the JSON of a trace that will soon be asked for; the oldest make way."""
        with self._lock:
            self._size_bytes += len(data) - len(self._kept.pop(key, b""))
            self._kept[key] = data
            while self._size_bytes > self._limit_bytes:
                self._size_bytes -= len(self._kept.popitem(last=False)[1])

    def _assemble(self, jobs: dict[TraceKey, PendingJob]) -> dict[TraceKey, bytes]:
        """Return the traces, read from the database; each holds what its own revision held."""
        newest: dict[str, PendingJob] = {}
        for job in sorted(jobs.values(), key=lambda j: j.revision):
            newest[job.trace_id] = job
        ranges = [
            SeqRange(trace_id=job.trace_id, first_seq=job.first_seq, last_seq=job.last_seq)
            for job in newest.values()
        ]
        with self._db.read() as cursor:
            arrivals = load_arrivals(cursor, ranges)
        found = {}
        for key, job in jobs.items():
            of_trace = arrivals[job.trace_id]
            spans = [s for s in of_trace.spans if s.seq <= job.last_seq]
            logs = [r for r in of_trace.logs if r.seq <= job.last_seq]
            found[key] = dump_trace(assemble(spans, logs, revision=job.revision))
        return found
