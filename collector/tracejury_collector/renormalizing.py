"""Reading history again: what the dialects in force make of spans that arrived under others.

Page by page, in the worker's thread between its ticks: canonical columns are written anew where
they differ, and a trace that comes out differently gets a new revision, on which every rule
decides as on any other. Traces that are open are left to be finished.
"""

from __future__ import annotations

import logging
import math
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb

from tracejury.assemble import assemble
from tracejury.trace import Trace
from tracejury_collector.canonical import COLUMNS, canonical_row
from tracejury_collector.errors import Conflict, NotFound, TooLarge, Unavailable
from tracejury_collector.store import renormalizations
from tracejury_collector.store.columns import Row
from tracejury_collector.store.database import Database
from tracejury_collector.store.loading import SeqRange, load_arrivals
from tracejury_collector.store.renormalizations import (
    Renormalization,
    RenormalizedWrite,
    StoredRevision,
    StoredSpan,
    compared_columns,
    load_revisions,
    load_spans,
    normal_rows,
    stored_rows,
)
from tracejury_collector.store.rows import Revision, RevisionRows
from tracejury_collector.upstream import upstream_probability

log = logging.getLogger(__name__)

PAGE_SEQS = 1000
EXAMPLES = 20
MOST_JOBS = 2000
"""While more than these wait for the jury, history waits too."""

Revise = Callable[[Sequence[Revision], RenormalizedWrite], None]
Change = tuple[str, str]
"""What changed: the column, and how (gained, lost, changed)."""


class Renormalizer:
    """Works on one request at a time; `revise` writes new revisions and the page in one commit."""

    def __init__(
        self,
        db: Database,
        revise: Revise,
        now_ns: Callable[[], int],
        is_held: Callable[[], bool] = lambda: False,
    ) -> None:
        """Work while not `is_held`, as by a budget that would refuse to judge what changed."""
        self._is_held = is_held
        self._db = db
        self._revise = revise
        self._now_ns = now_ns
        self._is_compacting: Callable[[], bool] = lambda: False
        self._page_seqs = PAGE_SEQS
        self._news = threading.Event()
        self._news.set()

    def hold_while(self, is_compacting: Callable[[], bool]) -> None:
        """Take no request while the database file is written anew."""
        self._is_compacting = is_compacting

    def request(
        self, *, since_ns: int | None, until_ns: int | None, dry_run: bool
    ) -> Renormalization:
        """Write down a request, which is worked on from now on, across restarts.

        Raises: Conflict while another one runs, or the file is written anew; Unavailable.
        """
        if self._is_compacting():
            raise Conflict("the database is being compacted; wait for its end")
        running = renormalizations.find(self._db, state="running")
        if running:
            raise Conflict(
                f"renormalization {running[0].id!r} is running; wait for it, or cancel it"
            )
        first_seq, last_seq = renormalizations.seqs_received(self._db, since_ns, until_ns)
        request = Renormalization(
            id=uuid.uuid4().hex,
            requested_at_ns=self._now_ns(),
            since_ns=since_ns,
            until_ns=until_ns,
            dry_run=dry_run,
            first_seq=first_seq,
            last_seq=last_seq,
            next_seq=first_seq,
            state="running",
            report=_empty_report(),
        )
        renormalizations.insert(self._db, request)
        self._news.set()
        return request

    def is_running(self) -> bool:
        """Say whether history is being read again."""
        return bool(renormalizations.find(self._db, state="running"))

    def find(self, request_id: str) -> Renormalization:
        """Return a request.

        Raises: NotFound
        """
        found = renormalizations.find(self._db, request_id=request_id)
        if not found:
            raise NotFound(f"no renormalization has the id {request_id[:100]!r}; list them")
        return found[0]

    def cancel(self, request_id: str) -> Renormalization:
        """End a request where it stands; what it has written stays.

        Raises: NotFound
        """
        self.find(request_id)
        renormalizations.cancel(self._db, request_id, self._now_ns())
        return self.find(request_id)

    def step(self) -> bool:
        """Work on the next page, if there is one; return whether more may follow at once.

        Raises: Unavailable or duckdb.Error when the database cannot be used now.
        """
        if not self._news.is_set():
            return False
        self._news.clear()
        running = renormalizations.find(self._db, state="running")
        if not running:
            return False
        self._news.set()
        if not running[-1].dry_run and (self._is_held() or self._is_crowded()):
            return False
        try:
            self._page(running[-1])
        except (TooLarge, duckdb.OutOfMemoryException) as error:
            self._take_less(running[-1], str(error).partition("\n")[0])
        except (Unavailable, duckdb.Error):
            raise
        except Exception as error:
            log.exception("a page of history cannot be read again")
            self._take_less(running[-1], f"{type(error).__name__}: {error}")
        else:
            self._page_seqs = min(PAGE_SEQS, self._page_seqs * 2)
        return True

    def _is_crowded(self) -> bool:
        return bool(self._db.rows("count_jobs")[0]["jobs"] > MOST_JOBS)

    def _take_less(self, request: Renormalization, reason: str) -> None:
        """After a page that could not be read: take half of it, or pass over one arrival."""
        if self._page_seqs == 1:
            self._give_up(request, reason)
        self._page_seqs = max(1, self._page_seqs // 2)

    def _give_up(self, request: Renormalization, reason: str) -> None:
        """Pass over one arrival that cannot be read, and count it."""
        report = {**request.report, "unreadable": request.report["unreadable"] + 1}
        log.warning("arrival %d cannot be read again: %s", request.next_seq, reason)
        self._advance(request, request.next_seq, report, [], [])

    def _page(self, request: Renormalization) -> None:
        last_seq = min(request.next_seq + self._page_seqs - 1, request.last_seq)
        spans = load_spans(self._db, request.next_seq, last_seq)
        changed = list(_renormalized(spans))
        revisions = list(self._reassembled(request, last_seq))
        report = _counted(request.report, spans, changed, revisions)
        self._advance(
            request,
            last_seq,
            report,
            [(seq, row) for seq, row, _ in changed],
            [new for new, changes in revisions if changes],
        )

    def _advance(
        self,
        request: Renormalization,
        last_seq: int,
        report: dict[str, Any],
        spans: Sequence[tuple[int, Row]],
        revisions: Sequence[Revision],
    ) -> None:
        is_done = last_seq >= request.last_seq
        at = replace(
            request, next_seq=last_seq + 1, report=report, state="done" if is_done else "running"
        )
        kept = request.dry_run
        write = RenormalizedWrite(at, [] if kept else spans, self._now_ns())
        self._revise([] if kept else revisions, write)

    def _reassembled(
        self, request: Renormalization, last_seq: int
    ) -> Iterator[tuple[Revision, Counter[Change]]]:
        """Yield the revisions of this page as they would be, with what differs from what is."""
        stored = load_revisions(self._db, request.next_seq, last_seq, request.first_seq)
        if not stored:
            return
        before = stored_rows(self._db, stored)
        ranges = [
            SeqRange(trace_id=r.trace_id, first_seq=r.first_seq, last_seq=r.last_seq)
            for r in stored
        ]
        with self._db.read() as cursor:
            arrivals = load_arrivals(cursor, ranges)
        now_ns = self._now_ns()
        for old in stored:
            found = arrivals.pop(old.trace_id, None)
            if found is None or not found.spans:
                continue
            trace = assemble(found.spans, found.logs, revision=old.revision + 1)
            new = _revision(old, trace, now_ns, upstream_probability(found.spans))
            yield new, _differences(before.get(old.trace_id, {}), new)


def _revision(old: StoredRevision, trace: Trace, now_ns: int, upstream: float) -> Revision:
    return Revision(
        trace=trace,
        first_seq=old.first_seq,
        last_seq=old.last_seq,
        project=old.project,
        service_name=old.service_name,
        root_ended=old.root_ended,
        completed_by=old.completed_by,
        completed_at_ns=now_ns,
        upstream_probability=upstream,
        former_ns=old.completed_at_ns,
    )


def _renormalized(spans: Sequence[StoredSpan]) -> Iterator[tuple[int, Row, Counter[Change]]]:
    """Yield (seq, canonical columns, what changed) of the spans that come out differently."""
    for span in spans:
        now = canonical_row(
            scope_name=span.scope_name,
            resource=span.resource,
            name=span.name,
            attributes=span.attributes,
            events=span.events,
            otel_kind=span.otel_kind,
        )
        if now != span.canonical:
            yield span.seq, now, _changes(COLUMNS, span.canonical, now)


def _differences(before: dict[str, list[Row]], new: Revision) -> Counter[Change]:
    """Return what of a trace's rows changed, by table and column; rows are told by position."""
    made = RevisionRows()
    made.add(new)
    found: Counter[Change] = Counter()
    for name, table in made.tables().items():
        now = [row for _, row in normal_rows(name, table)]
        old = before.get(name, [])
        columns = [f"{name}.{column}" for column in compared_columns(name)]
        for one, other in zip(old, now, strict=False):
            found.update(_changes(columns, one, other))
        if len(old) != len(now):
            how = "gained" if len(now) > len(old) else "lost"
            found[f"{name} (rows)", how] += abs(len(now) - len(old))
    return found


def _changes(columns: Sequence[str], old: Row, new: Row) -> Counter[Change]:
    found: Counter[Change] = Counter()
    for column, before, after in zip(columns, old, new, strict=True):
        if not _equal(before, after):
            how = "gained" if before is None else "lost" if after is None else "changed"
            found[column, how] += 1
    return found


def _equal(before: object, after: object) -> bool:
    """Whether two values are the same; of numbers, what rounding makes of one is the same."""
    if isinstance(before, float) and isinstance(after, float):
        return math.isclose(before, after, rel_tol=1e-9)
    return before == after


def _empty_report() -> dict[str, Any]:
    return {
        "spans": 0,
        "spans_changed": 0,
        "traces": 0,
        "traces_changed": 0,
        "unreadable": 0,
        "columns": {},
        "examples": [],
    }


def _counted(
    report: dict[str, Any],
    spans: Sequence[StoredSpan],
    changed: Sequence[tuple[int, Row, Counter[Change]]],
    revisions: Sequence[tuple[Revision, Counter[Change]]],
) -> dict[str, Any]:
    """Return the report with one page more."""
    differing = [(new.trace.trace_id, changes) for new, changes in revisions if changes]
    columns = {name: dict(counts) for name, counts in report["columns"].items()}
    for (column, how), count in _sum(changes for _, _, changes in changed).items():
        _add(columns, f"spans.{column}", how, count)
    for (column, how), count in _sum(changes for _, changes in differing).items():
        _add(columns, column, how, count)
    return {
        **report,
        "spans": report["spans"] + len(spans),
        "spans_changed": report["spans_changed"] + len(changed),
        "traces": report["traces"] + len(revisions),
        "traces_changed": report["traces_changed"] + len(differing),
        "columns": columns,
        "examples": [*report["examples"], *(trace_id for trace_id, _ in differing)][:EXAMPLES],
    }


def _sum(counters: Iterable[Counter[Change]]) -> Counter[Change]:
    total: Counter[Change] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def _add(columns: dict[str, dict[str, int]], column: str, how: str, count: int) -> None:
    counts = columns.setdefault(column, {})
    counts[how] = counts.get(how, 0) + count
