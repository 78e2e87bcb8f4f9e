"""Deleting what is old or too much, page by page, in writes so short that nothing waits for them.

First go the arrivals of a trace with everything made of them, the oldest first; what was judged
and said of it, and its totals, stay until their own time has come. Open traces are left, and those
that wait for the jury.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping

from tracejury_collector.config import RetentionSettings
from tracejury_collector.store import removal
from tracejury_collector.store.database import Database
from tracejury_collector.store.removal import Cutoffs
from tracejury_collector.store.storage import count_rows, measure_projects, measure_space

log = logging.getLogger(__name__)

PAGE_TRACES = 2000
LOOK_S = 60.0
TARGET_SHARE = 0.95
"""Of a limit of size that is to be left in use: it is not reached again at once."""

_NEVER = 0
_ALL_SEQS = (1 << 63) - 1


class Retention:
    """Looks at what is due once a minute; `is_held` says that nothing may be deleted now."""

    def __init__(
        self,
        db: Database,
        settings: RetentionSettings,
        now_ns: Callable[[], int],
        is_held: Callable[[], bool] = lambda: False,
    ) -> None:
        self._db = db
        self._settings = settings
        self._now_ns = now_ns
        self._is_held = is_held
        self._next_look_ns = 0
        self._spans: Cutoffs | None = None
        self._results: Cutoffs | None = None
        self._excess: dict[str, int] = {}

    def step(self) -> bool:
        """Delete the next page, if one is due; return whether more may follow at once.

        Raises: Unavailable or duckdb.Error when the database cannot be used now.
        """
        if not self._settings.is_limited or self._is_held():
            return False
        if self._now_ns() >= self._next_look_ns:
            self._look()
        return self._spans_page() or self._size_page() or self._results_page()

    def _look(self) -> None:
        """Find out what is due until the next look."""
        now_ns = self._now_ns()
        self._next_look_ns = now_ns + int(LOOK_S * 1e9)
        names = ("", *self._settings.projects)
        ages = {name: self._settings.ages_of(name) for name in names}
        spans = {name: self._seq_before(now_ns, age) for name, (age, _) in ages.items()}
        results = {name: _time_before(now_ns, age) for name, (_, age) in ages.items()}
        self._spans, self._results = _cutoffs(spans), _cutoffs(results)
        self._excess = self._spans_in_excess()

    def _seq_before(self, now_ns: int, age_s: float | None) -> int:
        before_ns = _time_before(now_ns, age_s)
        return removal.first_seq_since(self._db, before_ns) if before_ns > _NEVER else _NEVER

    def _spans_in_excess(self) -> dict[str, int]:
        """Return how many of the oldest spans are too much, by project, "" for all together."""
        limits = {name: p.size for name, p in self._settings.projects.items() if p.size}
        if self._settings.size is None and not limits:
            return {}
        live = measure_space(self._db).live_bytes
        found = {"": _excess(live, self._settings.size, count_rows(self._db)["spans"])}
        if limits:
            for project in measure_projects(self._db, live):
                limit = limits.get(project.project)
                found[project.project] = _excess(project.bytes, limit, project.spans)
        return {name: spans for name, spans in found.items() if spans}

    def _spans_page(self) -> bool:
        """Delete arrivals that were kept long enough."""
        if self._spans is None:
            return False
        found_ns = self._now_ns()
        page = removal.traces_past_spans(self._db, self._spans, PAGE_TRACES)
        if len(page) < PAGE_TRACES:
            self._spans = None
        self._remove_arrivals(page, found_ns, "age")
        return bool(page)

    def _size_page(self) -> bool:
        """Delete the oldest arrivals of what holds too much."""
        for name, spans in self._excess.items():
            wanted = Cutoffs(projects={name: _ALL_SEQS}, default=_NEVER) if name else _EVERYTHING
            found_ns = self._now_ns()
            page = removal.traces_past_spans(self._db, wanted, PAGE_TRACES)
            chosen, left = _oldest(page, spans)
            self._remove_arrivals(chosen, found_ns, "size")
            self._excess[name] = left
            if left <= 0 or len(chosen) < PAGE_TRACES:
                del self._excess[name]
                self._db.checkpoint().result()  # only now are the blocks free to be used again
            return True
        return False

    def _remove_arrivals(self, page: list[removal.OldTrace], found_ns: int, why: str) -> None:
        if page:
            removal.remove_arrivals(self._db, page, found_ns, why)
            log.info("deleted the spans of %d traces (%s)", len(page), why)

    def _results_page(self) -> bool:
        """Delete what is left of traces and sessions that were kept long enough."""
        if self._results is None:
            return False
        page = removal.traces_past_results(self._db, self._results, PAGE_TRACES)
        if page:
            ids = [trace.trace_id for trace in page]
            removal.remove_traces(self._db, ids, "results", removal.Places.of(page))
            log.info("deleted %d traces with their results (age)", len(page))
            return True
        sessions = removal.sessions_past_results(self._db, self._results, PAGE_TRACES)
        removal.remove_sessions(self._db, sessions)
        if len(sessions) < PAGE_TRACES:
            removal.forget_labels(self._db, self._results.default)
            self._results = None
        return True


_EVERYTHING = Cutoffs(projects={}, default=_ALL_SEQS)


def _time_before(now_ns: int, age_s: float | None) -> int:
    return _NEVER if age_s is None else max(_NEVER, now_ns - int(age_s * 1e9))


def _cutoffs(by_name: Mapping[str, int]) -> Cutoffs | None:
    """Return the cutoffs; None where nothing is ever old."""
    if not any(by_name.values()):
        return None
    projects = {name: number for name, number in by_name.items() if name}
    return Cutoffs(projects=projects, default=by_name[""])


def _excess(size_bytes: int, limit_bytes: int | None, spans: int) -> int:
    """Return how many of these spans must go, taking all as equally large."""
    if limit_bytes is None or size_bytes <= limit_bytes:
        return 0
    return math.ceil(spans * (1 - TARGET_SHARE * limit_bytes / size_bytes))


def _oldest(page: list[removal.OldTrace], spans: int) -> tuple[list[removal.OldTrace], int]:
    """Return the first traces that together have so many spans, and how many are lacking."""
    for n, trace in enumerate(page, start=1):
        spans -= trace.span_count
        if spans <= 0:
            return page[:n], 0
    return page, spans
