"""Assembled traces and sessions for the jury: fresh traces from memory, others assembled again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tracejury.assemble import assemble
from tracejury.codec import dump_trace
from tracejury.session import session_trace
from tracejury.trace import Trace
from tracejury_collector.errors import TooLarge
from tracejury_collector.jury.jobs import Job
from tracejury_collector.store.arrivals import Arrivals
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import PendingJob
from tracejury_collector.store.loading import SeqRange, load_arrivals
from tracejury_collector.store.session_revisions import Member, members_of_revisions

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
                found.update(self._next_that_fit(jobs[taken : taken + self._ahead], found))
                size_bytes = sum(map(len, found.values()))
                self._ahead = min(self._ahead * 2, _READ_AHEAD)
        return len(jobs), found

    def _next_that_fit(
        self, jobs: Sequence[Job], known: Mapping[TraceKey, bytes]
    ) -> dict[TraceKey, bytes]:
        """Return the traces of these jobs; of the first alone where they are too large together."""
        try:
            return self._next(jobs, known)
        except TooLarge:
            if len(jobs) == 1:
                raise
            self._ahead = 1
            return self._next(jobs[:1], known)

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

    def _assemble(self, jobs: Mapping[TraceKey, PendingJob]) -> dict[TraceKey, bytes]:
        """Return what is judged, read from the database; each holds what its own revision held."""
        with self._db.read() as cursor:
            wanted = _contents(cursor, jobs)
            arrivals = load_arrivals(cursor, _ranges(wanted.values()))
        return {
            key: dump_trace(content.built(jobs[key].revision, arrivals))
            for key, content in wanted.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What a job is about: one revision of a trace, or those that a session consists of."""

    members: Sequence[Member]
    session_id: str | None = None
    is_cut: bool = False

    def built(self, revision: int, arrivals: Mapping[str, Arrivals]) -> Trace:
        """Return it as one trace."""
        traces = [_trace(member, arrivals[member.trace_id]) for member in self.members]
        if self.session_id is None:
            return traces[0]
        return session_trace(
            traces, session_id=self.session_id, revision=revision, is_cut=self.is_cut
        )


def _contents(
    cursor: duckdb.DuckDBPyConnection, jobs: Mapping[TraceKey, PendingJob]
) -> dict[TraceKey, _Content]:
    sessions = [key for key, job in jobs.items() if job.target_kind == "session"]
    found = {key: _Content(members=[_member(job)]) for key, job in jobs.items()}
    for key, (session_id, members) in members_of_revisions(cursor, sessions).items():
        is_cut = members.total > len(members.found)
        found[key] = _Content(members=members.found, session_id=session_id, is_cut=is_cut)
    return found


def _member(job: PendingJob) -> Member:
    return Member(
        trace_id=job.trace_id,
        revision=job.revision,
        first_seq=job.first_seq,
        last_seq=job.last_seq,
    )


def _ranges(contents: Iterable[_Content]) -> list[SeqRange]:
    """Return where the arrivals of all of them lie, one range for each trace."""
    bounds: dict[str, tuple[int, int]] = {}
    for member in (member for content in contents for member in content.members):
        first, last = bounds.get(member.trace_id, (member.first_seq, member.last_seq))
        bounds[member.trace_id] = (min(first, member.first_seq), max(last, member.last_seq))
    return [
        SeqRange(trace_id=trace_id, first_seq=first, last_seq=last)
        for trace_id, (first, last) in bounds.items()
    ]


def _trace(member: Member, arrivals: Arrivals) -> Trace:
    """Return the trace as it was in this revision."""
    spans = [s for s in arrivals.spans if s.seq <= member.last_seq]
    logs = [r for r in arrivals.logs if r.seq <= member.last_seq]
    return assemble(spans, logs, revision=member.revision)
