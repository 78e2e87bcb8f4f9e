"""A finished trace becomes a revision: its arrivals assembled, unless nothing new is among them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tracejury.assemble import assemble
from tracejury.codec import dump_trace
from tracejury.trace import Flags, Trace
from tracejury_collector.completion import CompletedBy, Completion
from tracejury_collector.store.loading import Arrivals, SeqRange
from tracejury_collector.store.revisions import Closing, Earlier, OpenTrace
from tracejury_collector.store.rows import Revision, RevisionRows
from tracejury_collector.store.session_revisions import finished_in_sessions
from tracejury_collector.upstream import upstream_probability

log = logging.getLogger(__name__)

MAX_DUMPED_BYTES = 32 << 20


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

    def closing(self, arrivals: Arrivals) -> Closing:
        """Return how to close it; those that end by age or marker do not wait for more."""
        return Closing(
            opened=self.opened,
            forced=self.completion.completed_by in ("marker", "max_age"),
            duplicate_spans=arrivals.duplicate_spans,
            duplicate_logs=arrivals.duplicate_logs,
        )

    def revision(self, arrivals: Arrivals, now_ns: int) -> Revision | None:
        """Return the revision; None if only duplicates arrived since the one before."""
        earlier = self.earlier
        known_seq = earlier.last_seq if earlier else -1
        seqs = [s.seq for s in arrivals.spans] + [r.seq for r in arrivals.logs]
        if not seqs:
            raise LookupError(
                f"nothing is stored of trace {self.trace_id}, which is to be finished"
            )
        if not any(seq > known_seq for seq in seqs):
            return None
        root_ended = any(not s.parent_span_id and s.end_ns for s in arrivals.spans)
        return self._revision(
            _assembled(self.trace_id, arrivals, self._number),
            root_ended,
            now_ns,
            upstream_probability(arrivals.spans),
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
        return self._revision(trace, self.opened.activity.root_ended, now_ns)

    @property
    def _number(self) -> int:
        return self.earlier.revision + 1 if self.earlier else 1

    def _revision(
        self, trace: Trace, root_ended: bool, now_ns: int, upstream: float = 1.0
    ) -> Revision:
        opened, earlier = self.opened, self.earlier
        return Revision(
            trace=trace,
            first_seq=min(opened.first_seq, earlier.first_seq) if earlier else opened.first_seq,
            last_seq=opened.last_seq,
            project=opened.project,
            service_name=opened.service_name,
            root_ended=root_ended,
            completed_by=self.completion.completed_by,
            completed_at_ns=now_ns,
            upstream_probability=upstream,
            former_ns=earlier.completed_at_ns if earlier else 0,
        )


@dataclass(slots=True, kw_only=True)
class Draft:
    """Finished traces on their way to the commit: rows and JSON, no traces.

    `sessions` says where they belong: (trace id, revision, project, session id, last arrival).
    `dumps` holds the JSON of those that are wanted by trace id, as far as there is room.
    `revised` are the traces that are not open and hold nothing new; `former_ns` says by trace id
    when the revision before was finished.
    `give_way` is called before each trace is assembled, which is the long work.
    """

    now_ns: int
    is_wanted: Callable[[Revision], bool]
    give_way: Callable[[], None]
    closing: list[Closing] = field(default_factory=list)
    rows: RevisionRows = field(default_factory=RevisionRows)
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

    def session_news(self) -> pa.Table:
        """Return where the traces belong, for the sessions that have news by them."""
        return finished_in_sessions(self.sessions)

    def add(self, finished: Iterable[FinishedTrace], arrivals: dict[str, Arrivals]) -> None:
        """Add these traces; takes their arrivals out of the dict, to give memory back early."""
        for trace in finished:
            self.give_way()
            of_trace = arrivals.pop(trace.trace_id, None) or Arrivals()
            self.closing.append(trace.closing(of_trace))
            revision = trace.revision(of_trace, self.now_ns)
            if revision is not None:
                self._keep(revision, trace.opened.activity.last_seen_ns)

    def add_bare(self, trace: FinishedTrace, reason: str) -> None:
        """Add a trace that cannot be read, so that it is decided like any other."""
        self.closing.append(trace.closing(Arrivals()))
        self._keep(trace.bare_revision(reason, self.now_ns), trace.opened.activity.last_seen_ns)

    def revise(self, revision: Revision) -> None:
        """Add a revision of a trace that is not open: what it holds has come out differently."""
        self.revised.add(revision.trace.trace_id)
        self._keep(revision, self.now_ns)

    def _keep(self, revision: Revision, seen_ns: int) -> None:
        trace_id = revision.trace.trace_id
        number, session_id = revision.trace.revision, revision.trace.session_id
        self.sessions.append((trace_id, number, revision.project, session_id, seen_ns))
        self.rows.add(revision)
        self.revisions.append(Earlier.of(revision))
        self.completed_by[trace_id] = revision.completed_by
        self.former_ns[trace_id] = revision.former_ns
        if self.dumped_bytes < MAX_DUMPED_BYTES and self.is_wanted(revision):
            self.dumps[trace_id] = data = dump_trace(revision.trace)
            self.dumped_bytes += len(data)


def chunks(finished: Sequence[FinishedTrace], spans: int) -> Iterator[Sequence[FinishedTrace]]:
    """Return the traces in groups of about this many spans, at least one trace each."""
    first = held = 0
    for n, trace in enumerate(finished):
        held += trace.opened.activity.span_count
        if held > spans and n > first:
            yield finished[first:n]
            first, held = n, trace.opened.activity.span_count
    yield finished[first:]


def _assembled(trace_id: str, arrivals: Arrivals, revision: int) -> Trace:
    try:
        return assemble(arrivals.spans, arrivals.logs, revision=revision)
    except Exception as error:
        log.exception("trace %s cannot be assembled", trace_id)
        diagnostic = f"assembly failed: {type(error).__name__}: {error}"[:1000]
        return Trace(trace_id=trace_id, revision=revision, diagnostics=(diagnostic,))
