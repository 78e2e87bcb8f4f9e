"""A finished trace becomes a revision: its arrivals assembled, unless nothing new is among them."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tracejury.assemble import assemble
from tracejury.trace import Trace
from tracejury_collector.completion import Completion
from tracejury_collector.store.loading import Arrivals, SeqRange
from tracejury_collector.store.revisions import Closing, Earlier, OpenTrace
from tracejury_collector.store.rows import Revision

log = logging.getLogger(__name__)


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
        forced = self.completion.completed_by in ("marker", "max_age")
        return Closing(opened=self.opened, arrivals=arrivals, forced=forced)

    def revision(self, arrivals: Arrivals, now_ns: int) -> Revision | None:
        """Return the revision; None if only duplicates arrived since the one before."""
        opened, earlier = self.opened, self.earlier
        known_seq = earlier.last_seq if earlier else -1
        seqs = [s.seq for s in arrivals.spans] + [r.seq for r in arrivals.logs]
        if not any(seq > known_seq for seq in seqs):
            return None
        return Revision(
            trace=_assembled(self.trace_id, arrivals, earlier.revision + 1 if earlier else 1),
            first_seq=min(opened.first_seq, earlier.first_seq) if earlier else opened.first_seq,
            last_seq=opened.last_seq,
            project=opened.project,
            service_name=opened.service_name,
            root_ended=any(not s.parent_span_id and s.end_ns for s in arrivals.spans),
            completed_by=self.completion.completed_by,
            completed_at_ns=now_ns,
        )


def _assembled(trace_id: str, arrivals: Arrivals, revision: int) -> Trace:
    try:
        return assemble(arrivals.spans, arrivals.logs, revision=revision)
    except Exception as error:
        log.exception("trace %s cannot be assembled", trace_id)
        diagnostic = f"assembly failed: {type(error).__name__}: {error}"[:1000]
        return Trace(trace_id=trace_id, revision=revision, diagnostics=(diagnostic,))
