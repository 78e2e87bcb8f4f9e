"""The loop of all runs: page by page, targets become decisions, and decisions jobs."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import duckdb

from tracejury_collector.conditions import Conditions
from tracejury_collector.errors import RequestError, SqlTooLarge, Unavailable
from tracejury_collector.rules import Rule
from tracejury_collector.runs.choosing import Judged, decide_targets
from tracejury_collector.runs.counts import Decided, counts_of
from tracejury_collector.runs.paging import Page, judged_on, next_page
from tracejury_collector.runs.plan import Plan, plan_of
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import Ledger
from tracejury_collector.store.runs import (
    RunState,
    StepWrite,
    StoredRun,
    end_run,
    jobs_of_runs,
    running_runs,
)
from tracejury_collector.store.turns import Turns

log = logging.getLogger(__name__)

MOST_JOBS = 1000
"""Jobs of one run that wait at a time: a run that is canceled leaves no more behind."""

PAGE = MOST_JOBS // 2
MAX_FAILURES = 30
_LOOK_S = 0.1
_IDLE_S = 60.0
_RETRY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A run with what it needs at each step."""

    plan: Plan
    rule: Rule
    conditions: Conditions


class RunDriver:
    """Drives runs from their first target to their last result; only one may work on a database.

    Where each run stands is in the database, so that a new process goes on where one was killed.
    `refusal` says why what a rule's evaluators cost is not to be spent now, "" if it may; a run
    waits until then. `judges_sessions` says whether a rule in force does.
    """

    def __init__(
        self,
        db: Database,
        turns: Turns,
        poke: Callable[[], None],
        now_ns: Callable[[], int] = time.time_ns,
        refusal: Callable[[Rule], str] = lambda _: "",
        judges_sessions: Callable[[], bool] = lambda: False,
    ) -> None:
        self._db = db
        self._turns = turns
        self._poke = poke
        self._now_ns = now_ns
        self._refusal = refusal
        self._judges_sessions = judges_sessions
        self._wake = threading.Event()
        self._works: dict[str, _Work] = {}
        self._pages: dict[str, int] = {}
        self._failures: Counter[str] = Counter()
        self.waiting: dict[str, str] = {}
        """Why runs wait, by id."""

    def wake(self) -> None:
        """Say, from any thread, that there is a new run, or that all shall end."""
        self._wake.set()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set, and `wake` called; a database that is away only delays it."""
        pause_s = 0.0
        while not stop.is_set():
            self._wake.wait(pause_s)
            self._wake.clear()
            try:
                pause_s = self._pause_s(self.step())
            except (Unavailable, duckdb.Error) as error:
                log.warning("runs cannot go on now: %s", error)
                pause_s = _RETRY_S
            except Exception:
                log.exception("runs cannot go on now")
                pause_s = _RETRY_S
        self._forget(set())

    def _pause_s(self, stepped: int) -> float:
        if stepped:
            return 0.0
        return _LOOK_S if self._works else _IDLE_S

    def step(self) -> int:
        """Advance every run that has room for jobs by one page; return how many had.

        Raises: Unavailable or duckdb.Error when the database cannot be used now.
        """
        runs = running_runs(self._db)
        jobs = jobs_of_runs(self._db)
        self._forget({run.run_id for run in runs})
        advanced, errors = 0, []
        for run in runs:  # one that cannot go on now holds up no other
            try:
                advanced += self._advanced(run, jobs.get(run.run_id, 0))
            except (Unavailable, duckdb.Error) as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return advanced

    def _advanced(self, run: StoredRun, jobs: int) -> bool:
        """Advance one run; what cannot succeed ends it, what may succeed later is raised."""
        try:
            advanced = self._advance(run, jobs)
        except SqlTooLarge as error:
            self._take_less(run, error.__cause__, str(error))
        except RequestError as error:
            self._end(run, "failed", str(error))
        except duckdb.OutOfMemoryException as error:
            self._take_less(run, error, "a trace does not fit into memory; raise database.memory")
        except Unavailable:
            raise
        except duckdb.Error as error:
            self._failures[run.run_id] += 1
            if self._failures[run.run_id] <= MAX_FAILURES:
                raise
            self._end(run, "failed", str(error).partition("\n")[0])
        except Exception as error:
            log.exception("run %s failed", run.run_id)
            self._end(run, "failed", f"{type(error).__name__}: {error}")
        else:
            if advanced:
                self._failures.pop(run.run_id, None)
                self._pages[run.run_id] = min(PAGE, self._page_of(run) * 2)
            return advanced
        return True

    def _take_less(self, run: StoredRun, cause: BaseException | None, reason: str) -> None:
        """After a page that did not fit into memory: take half of it, or give up on one target."""
        if self._page_of(run) == 1 and not (
            isinstance(cause, duckdb.OutOfMemoryException) and self._db.grow(cause)
        ):
            self._end(run, "failed", reason)
        self._pages[run.run_id] = max(1, self._page_of(run) // 2)

    def _page_of(self, run: StoredRun) -> int:
        return self._pages.get(run.run_id, PAGE)

    def _advance(self, run: StoredRun, jobs: int) -> bool:
        if jobs > MOST_JOBS - self._page_of(run):
            return False
        work = self._work(run)
        if reason := self._refusal(work.rule):
            self.waiting[run.run_id] = reason
            return False
        self.waiting.pop(run.run_id, None)
        with self._db.read() as cursor:
            page = next_page(
                cursor,
                work.plan,
                run.before_seq,
                self._page_of(run),
                is_live=self._judges_sessions(),
            )
            judged = judged_on(cursor, work.plan, page)
        if page.examined:
            self._write(run, work, page, judged)
            return True
        if not jobs:
            self._end(run, "done", "")
        return False

    def _write(self, run: StoredRun, work: _Work, page: Page, judged: Judged) -> None:
        """Write the page, unless a target has a newer revision by now: it is then read again."""
        decided = decide_targets(work.rule, run.run_id, work.conditions, page, judged)
        counts = counts_of(run.counts).plus(page.examined, decided).to_json()
        with self._turns.take(self._now_ns()) as decided_ns:
            ledger = _ledger(decided, decided_ns)
            write = StepWrite(run, page, ledger, page.low_seq, counts, decided_ns)
            stepped = self._db.write(write).result()
        if stepped == "written" and ledger.selected:
            self._poke()

    def _work(self, run: StoredRun) -> _Work:
        work = self._works.get(run.run_id)
        if work is None:
            plan = plan_of(run.plan)
            rule = plan.rule
            work = _Work(plan=plan, rule=rule, conditions=Conditions((rule,)))
            self._works[run.run_id] = work
        return work

    def _end(self, run: StoredRun, state: RunState, error: str) -> None:
        end_run(self._db, run.run_id, state, self._now_ns(), error[:1000])
        log.info("run %s is %s%s", run.run_id, state, f": {error}" if error else "")

    def _forget(self, running: set[str]) -> None:
        for run_id in self._works.keys() - running:
            self._works.pop(run_id).conditions.close()
        for kept in (self.waiting, self._pages, self._failures):
            for run_id in kept.keys() - running:
                del kept[run_id]


def _ledger(decided: list[Decided], decided_ns: int) -> Ledger:
    ledger = Ledger()
    for item in decided:
        ledger.add(item.decision, decided_ns)
    return ledger
