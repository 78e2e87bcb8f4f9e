"""A finished trace becomes a revision: what the assembler made of it, or nothing but its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tracejury.trace import Flags, Trace
from tracejury_collector.assembling.batch import Assembled, Fact, Task
from tracejury_collector.completion import CompletedBy, Completion
from tracejury_collector.store.loading import SeqRange
from tracejury_collector.store.revisions import Closing, Earlier, OpenTrace
from tracejury_collector.store.rows import Revision, RevisionRows, joined
from tracejury_collector.store.session_revisions import finished_in_sessions

MAX_DUMPED_BYTES = 32 << 20
"""JSON for the jury that a batch may hold; what is beyond it is read again when it is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTrace:
    """An open trace that is finished, and the revision before, if it was opened again."""

    opened: OpenTrace
    completion: Completion
    earlier: Earlier | None = None

    @property
    def trace_id(self) -> str:
        """The trace's id."""
        return self.opened.activity.trace_id

    def ranges(self) -> list[SeqRange]:
        """Return where all that belongs to it lies."""
        spans = [(self.opened.first_seq, self.opened.last_seq)]
        if self.earlier:
            spans.append((self.earlier.first_seq, self.earlier.last_seq))
        return [
            SeqRange(trace_id=self.trace_id, first_seq=first, last_seq=last)
            for first, last in spans
        ]

    def task(self, now_ns: int) -> Task:
        """Return what the assembler is to make of it."""
        opened, earlier = self.opened, self.earlier
        return Task(
            trace_id=self.trace_id,
            revision=self._number,
            known_seq=earlier.last_seq if earlier else -1,
            first_seq=self._first_seq,
            last_seq=opened.last_seq,
            project=opened.project,
            service_name=opened.service_name,
            completed_by=self.completion.completed_by,
            completed_at_ns=now_ns,
            former_ns=earlier.completed_at_ns if earlier else 0,
        )

    def closing(self, fact: Fact | None = None) -> Closing:
        """Return how to close it; those that end by age or marker do not wait for more."""
        return Closing(
            opened=self.opened,
            forced=self.completion.completed_by in ("marker", "max_age"),
            duplicate_spans=fact.duplicate_spans if fact else (),
            duplicate_logs=fact.duplicate_logs if fact else (),
        )

    def bare_revision(self, reason: str, now_ns: int) -> Revision:
        """Return a revision without content, for a trace that cannot be read for this reason.

        It is taken for a run, so that evaluators say themselves that they could not see it.
        """
        trace = Trace(
            trace_id=self.trace_id,
            revision=self._number,
            kind="agent",
            service_name=self.opened.service_name,
            flags=Flags(not_captured=True),
            diagnostics=(f"not read: {reason}"[:1000],),
        )
        task = self.task(now_ns)
        return Revision(
            trace=trace,
            first_seq=task.first_seq,
            last_seq=task.last_seq,
            project=task.project,
            service_name=task.service_name,
            root_ended=self.opened.activity.root_ended,
            completed_by=task.completed_by,
            completed_at_ns=now_ns,
            former_ns=task.former_ns,
        )

    @property
    def _number(self) -> int:
        return self.earlier.revision + 1 if self.earlier else 1

    @property
    def _first_seq(self) -> int:
        first_seq = self.opened.first_seq
        return min(first_seq, self.earlier.first_seq) if self.earlier else first_seq


@dataclass(slots=True, kw_only=True)
class Draft:
    """Finished traces on their way to the commit: rows and JSON, no traces.

    `sessions` says where they belong: (trace id, revision, project, session id, last arrival).
    `dumps` holds the JSON of those that may be judged by trace id, as far as there is room.
    `revised` are the traces that are not open and hold nothing new; `former_ns` says by trace id
    when the revision before was finished.
    """

    now_ns: int
    closing: list[Closing] = field(default_factory=list)
    parts: list[Mapping[str, pa.Table]] = field(default_factory=list)
    revisions: list[Earlier] = field(default_factory=list)
    completed_by: dict[str, CompletedBy] = field(default_factory=dict)
    dumps: dict[str, bytes] = field(default_factory=dict)
    dumped_bytes: int = 0
    revised: set[str] = field(default_factory=set)
    former_ns: dict[str, int] = field(default_factory=dict)
    sessions: list[tuple[str, int, str, str, int]] = field(default_factory=list)

    @property
    def again(self) -> frozenset[str]:
        """The traces that had a revision before."""
        return frozenset(r.trace_id for r in self.revisions if r.revision > 1)

    def tables(self) -> dict[str, pa.Table]:
        """Return the rows of all traces by table."""
        return joined([RevisionRows().tables(), *self.parts])

    def session_news(self) -> pa.Table:
        """Return where the traces belong, for the sessions that have news by them."""
        return finished_in_sessions(self.sessions)

    def add(self, finished: Sequence[FinishedTrace], assembled: Assembled) -> None:
        """Add what the assembler made of these traces."""
        self.parts.append(assembled.tables)
        for trace, fact in zip(finished, assembled.facts, strict=True):
            self.closing.append(trace.closing(fact))
            if fact.has_news:
                self._add(trace, fact)

    def add_bare(self, trace: FinishedTrace, reason: str) -> None:
        """Add a trace that cannot be read, so that it is decided like any other."""
        self.closing.append(trace.closing())
        revision = trace.bare_revision(reason, self.now_ns)
        self._add_revision(revision, trace.opened.activity.last_seen_ns)

    def revise(self, revision: Revision, dump: bytes | None) -> None:
        """Add a revision of a trace that is not open: what it holds has come out differently."""
        self.revised.add(revision.trace.trace_id)
        self._add_revision(revision, self.now_ns)
        self._keep_dump(revision.trace.trace_id, dump)

    def _add(self, trace: FinishedTrace, fact: Fact) -> None:
        task = trace.task(self.now_ns)
        earlier = Earlier(
            trace_id=task.trace_id,
            revision=task.revision,
            first_seq=task.first_seq,
            last_seq=task.last_seq,
            root_ended=fact.root_ended,
            completed_at_ns=task.completed_at_ns,
            project=task.project,
            session_id=fact.session_id,
        )
        seen_ns = trace.opened.activity.last_seen_ns
        self._keep(earlier, task.completed_by, task.former_ns, seen_ns)
        self._keep_dump(task.trace_id, fact.dump)

    def _add_revision(self, revision: Revision, seen_ns: int) -> None:
        rows = RevisionRows()
        rows.add(revision)
        self.parts.append(rows.tables())
        self._keep(Earlier.of(revision), revision.completed_by, revision.former_ns, seen_ns)

    def _keep(
        self, revision: Earlier, completed_by: CompletedBy, former_ns: int, seen_ns: int
    ) -> None:
        trace_id = revision.trace_id
        self.revisions.append(revision)
        self.completed_by[trace_id] = completed_by
        self.former_ns[trace_id] = former_ns
        self.sessions.append(
            (trace_id, revision.revision, revision.project, revision.session_id, seen_ns)
        )

    def _keep_dump(self, trace_id: str, dump: bytes | None) -> None:
        if dump is not None and self.dumped_bytes < MAX_DUMPED_BYTES:
            self.dumps[trace_id] = dump
            self.dumped_bytes += len(dump)


def chunks(finished: Sequence[FinishedTrace], spans: int) -> Iterator[Sequence[FinishedTrace]]:
    """Return the traces in groups of about this many spans, at least one trace each."""
    first = held = 0
    for n, trace in enumerate(finished):
        held += trace.opened.activity.span_count
        if held > spans and n > first:
            yield finished[first:n]
            first, held = n, trace.opened.activity.span_count
    yield finished[first:]
