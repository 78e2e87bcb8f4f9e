"""Where runs are asked for, looked at and canceled."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tracejury_collector.definitions import Definitions
from tracejury_collector.errors import InvalidRequest, NotFound, TooManyRuns
from tracejury_collector.jury.roster import SeatOf
from tracejury_collector.rules import Rule, RuleEvaluator
from tracejury_collector.runs.comparing import Comparison, compare
from tracejury_collector.runs.counts import Counts, counts_of
from tracejury_collector.runs.driver import RunDriver
from tracejury_collector.runs.estimating import Estimate, estimate
from tracejury_collector.runs.paging import count_pages, next_page
from tracejury_collector.runs.plan import Plan, RunRequest, conditions_of, make_plan, plan_of
from tracejury_collector.store.database import Database
from tracejury_collector.store.reads import checked_where
from tracejury_collector.store.runs import (
    NewRun,
    RunFilter,
    RunTally,
    StoredRun,
    add_run,
    compared_results,
    end_run,
    find_run,
    list_runs,
    results_of_run,
)
from tracejury_collector.store.targets import TargetFilter, known_traces

MOST_RUNS = 20
"""Runs that go on at a time."""

ESTIMATE_S = 10.0
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """How far a run is, and what came of it; `waiting` says why it does not go on now."""

    run: StoredRun
    plan: Plan
    counts: Counts
    tallies: Sequence[RunTally]
    waiting: str

    @property
    def to_judge(self) -> int:
        """How many judgements were decided on so far."""
        return sum(self.counts.selected.values())

    @property
    def judged(self) -> int:
        """How many of them are made."""
        return sum(t.scores + t.skips + t.failures for t in self.tallies)

    @property
    def share(self) -> float:
        """How much of the run is done, from 0 to 1, as far as can be told."""
        if self.run.state == "done":
            return 1.0
        seen = self.counts.examined / self.run.targets if self.run.targets else 1.0
        return min(1.0, seen) * (min(1.0, self.judged / self.to_judge) if self.to_judge else 1.0)


def refusal_by(
    budgets: Callable[[str], str], is_free: Callable[[RuleEvaluator], bool]
) -> Callable[[Rule], str]:
    """Return what says why nothing may be spent for a rule now, "" if it may or costs nothing."""

    def refusal(rule: Rule) -> str:
        return "" if all(map(is_free, rule.evaluators)) else budgets(rule.name)

    return refusal


def free_by(seat_of: SeatOf) -> Callable[[RuleEvaluator], bool]:
    """Return what says whether an evaluator only computes: what asks others may cost."""

    def is_free(evaluator: RuleEvaluator) -> bool:
        seat = seat_of(evaluator.fingerprint)
        return seat is not None and not seat.waits

    return is_free


class RunDesk:
    """Takes requests for runs; the driver does what they ask."""

    def __init__(
        self,
        db: Database,
        driver: RunDriver,
        definitions: Definitions,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._db = db
        self._driver = driver
        self._definitions = definitions
        self._now_ns = now_ns

    def start(self, request: RunRequest) -> RunProgress:
        """Begin a run.

        Raises: NotFound, InvalidRequest or SqlRefused for what cannot be run; TooManyRuns.
        """
        plan = self._plan(request)
        with self._db.read() as cursor:
            total, newest_seq = count_pages(cursor, plan)
        now_ns = self._now_ns()
        new = NewRun(
            run_id=f"run-{now_ns // 1_000_000_000:x}-{secrets.token_hex(4)}",
            created_at_ns=now_ns,
            rule=plan.name,
            plan=plan.to_json(),
            before_seq=newest_seq + 1,
            targets=total,
            counts=Counts().to_json(),
        )
        if not add_run(self._db, new, MOST_RUNS):
            raise TooManyRuns(f"{MOST_RUNS} runs go on already; wait for one of them, or cancel it")
        self._driver.wake()
        return self.show(new.run_id)

    def estimate(self, request: RunRequest) -> tuple[Plan, Estimate]:
        """Return what a run would do, and what that would cost.

        Raises: as `start`, but for TooManyRuns.
        """
        plan = self._plan(request)
        deadline_s = time.monotonic() + ESTIMATE_S
        is_free = free_by(self._definitions.seat_of)
        found = estimate(
            self._db,
            plan,
            is_free,
            is_late=lambda: time.monotonic() > deadline_s,
            is_live=self._is_live(),
        )
        return plan, found

    def show(self, run_id: str) -> RunProgress:
        """Return how far a run is.

        Raises: NotFound for an unknown id.
        """
        run = find_run(self._db, run_id)
        if run is None:
            raise NotFound(
                f"no run has the id {run_id[:100]!r}; GET /api/runs lists those there are"
            )
        return self._progress(run)

    def list(self, wanted: RunFilter) -> Sequence[RunProgress]:
        """Return runs, newest first."""
        return [self._progress(run) for run in list_runs(self._db, wanted)]

    def cancel(self, run_id: str) -> RunProgress:
        """End a run that goes on; one that has ended stays as it is.

        Raises: NotFound for an unknown id.
        """
        self.show(run_id)
        end_run(self._db, run_id, "canceled", self._now_ns())
        self._driver.wake()
        return self.show(run_id)

    def comparison(self, progress: RunProgress) -> Comparison | None:
        """Return what a shadow run found so far; None for other runs."""
        shadow, identities = progress.plan.shadow, progress.plan.identities
        if shadow is None:
            return None
        pair = (identities[shadow.evaluator], identities[shadow.candidate])
        return compare(compared_results(self._db, progress.run, *pair))

    def _plan(self, request: RunRequest) -> Plan:
        """Return what to do, tried on one target."""
        plan = make_plan(request, self._definitions.in_force(), self._definitions.trial)
        plan = replace(plan, targets=self._known(plan))
        checked_where(plan.targets.where, f"{plan.target}s")
        with self._db.read() as cursor:
            _, newest_seq = count_pages(cursor, plan)
            next_page(cursor, plan, newest_seq + 1, 1, is_live=self._is_live())
        with conditions_of(plan.rule):
            return plan

    def _is_live(self) -> bool:
        return bool(self._definitions.in_force().rules_on("session"))

    def _known(self, plan: Plan) -> TargetFilter:
        """Return the targets, their ids checked."""
        targets = plan.targets
        if targets.trace_ids is None:
            return targets
        if plan.target == "session":
            raise InvalidRequest(
                f"trace_ids: the rule {plan.name!r} judges sessions; "
                "choose them by where, such as session_id = 'a'"
            )
        if (targets.where, targets.since_ns, targets.until_ns) != ("true", None, None):
            raise InvalidRequest(
                "trace_ids: ids alone say which traces, no where, since or until beside them; "
                "leave one or the other out"
            )
        ids = tuple(dict.fromkeys(i.lower() for i in targets.trace_ids))
        with self._db.read() as cursor:
            known = known_traces(cursor, ids)
        if unknown := [i for i in ids if i not in known]:
            more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
            names = ", ".join(repr(i[:100]) for i in unknown[:_NAMED])
            raise NotFound(
                f"trace_ids: no finished trace is {names}{more}; "
                "leave them out, or wait until they are finished"
            )
        return replace(targets, trace_ids=ids)

    def _progress(self, run: StoredRun) -> RunProgress:
        return RunProgress(
            run=run,
            plan=plan_of(run.plan),
            counts=counts_of(run.counts),
            tallies=results_of_run(self._db, run),
            waiting=self._driver.waiting.get(run.run_id, ""),
        )
