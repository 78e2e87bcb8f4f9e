"""What a run would do, and what that would cost: decided like a run, and not written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tracejury_collector.errors import SqlTooLarge
from tracejury_collector.rules import RuleEvaluator
from tracejury_collector.runs.choosing import Judged, decide_targets
from tracejury_collector.runs.counts import Counts
from tracejury_collector.runs.paging import Page, count_pages, judged_on, next_page
from tracejury_collector.runs.plan import Plan, conditions_of
from tracejury_collector.store.database import Database
from tracejury_collector.store.runs import RecentCost, former_fingerprint, recent_cost

Basis = Literal["free", "same_version", "former_version", "unknown"]

PAGE = 2000
SAMPLES = 500
"""The newest judgements whose mean is taken for that of those to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorEstimate:
    """What one evaluator would do; None is unknown.

    `basis` says where the cost is from: judgements of the same version, or of a former one.
    """

    name: str
    type: str
    fingerprint: str
    to_judge: int
    judged_already: int
    usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    basis: Basis
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would do: `total` traces, or sessions, lie in its range.

    Where looking at all of them took too long, `counts` are of the newest ones that were
    `examined`, and what evaluators would do is scaled up from these.
    """

    total: int
    counts: Counts
    is_complete: bool
    evaluators: tuple[EvaluatorEstimate, ...]

    @property
    def usd(self) -> float | None:
        """Cost of all judgements, None where that of any is unknown."""
        known = [e.usd for e in self.evaluators]
        return None if None in known else sum(usd for usd in known if usd)


def estimate(
    db: Database,
    plan: Plan,
    is_free: Callable[[RuleEvaluator], bool],
    is_late: Callable[[], bool],
    *,
    is_live: bool = False,
) -> Estimate:
    """Return what the plan would do; `is_free` says whether an evaluator costs nothing.

    Looks at all targets unless it `is_late`. `is_live` says that a rule in force judges sessions.

    Raises: SqlRefused where the plan's condition does not run, or runs too long.
    """
    total, counts, is_complete = _counted(db, plan, is_late, is_live=is_live)
    scale = 1.0 if is_complete or not counts.examined else total / counts.examined
    return Estimate(
        total=total,
        counts=counts,
        is_complete=is_complete,
        evaluators=tuple(_evaluator(db, e, counts, scale, is_free) for e in plan.evaluators),
    )


def _counted(
    db: Database, plan: Plan, is_late: Callable[[], bool], *, is_live: bool
) -> tuple[int, Counts, bool]:
    counts, rule, limit = Counts(), plan.rule, PAGE
    with db.read() as cursor:
        total, newest_seq = count_pages(cursor, plan)
    before_seq = newest_seq + 1
    with conditions_of(rule) as conditions:
        while not is_late():
            try:
                page, judged = _read(db, plan, before_seq, limit, is_live=is_live)
            except SqlTooLarge:
                if limit == 1:
                    raise
                limit //= 2
                continue
            if not page.examined:
                return total, counts, True
            decided = decide_targets(rule, "", conditions, page, judged)
            counts = counts.plus(page.examined, decided)
            before_seq, limit = page.low_seq, min(PAGE, limit * 2)
    return total, counts, counts.examined >= total


def _read(
    db: Database, plan: Plan, before_seq: int, limit: int, *, is_live: bool
) -> tuple[Page, Judged]:
    with db.read() as cursor:
        page = next_page(cursor, plan, before_seq, limit, is_live=is_live)
        return page, judged_on(cursor, plan, page)


def _evaluator(
    db: Database,
    evaluator: RuleEvaluator,
    counts: Counts,
    scale: float,
    is_free: Callable[[RuleEvaluator], bool],
) -> EvaluatorEstimate:
    to_judge = round(counts.selected.get(evaluator.name, 0) * scale)
    basis, recent = _recent(db, evaluator, is_free)
    usd, read, written = _means(basis, recent)
    return EvaluatorEstimate(
        name=evaluator.name,
        type=evaluator.type,
        fingerprint=evaluator.fingerprint,
        to_judge=to_judge,
        judged_already=round(counts.left_out.get(evaluator.name, 0) * scale),
        usd=_times(usd, to_judge),
        input_tokens=_whole(read, to_judge),
        output_tokens=_whole(written, to_judge),
        basis=basis,
        samples=recent.samples if recent else 0,
    )


def _means(
    basis: Basis, recent: RecentCost | None
) -> tuple[float | None, float | None, float | None]:
    """Return the USD, input tokens and output tokens of one judgement; None is unknown."""
    if basis == "free":
        return 0.0, 0.0, 0.0
    if recent is None:
        return None, None, None
    return (None if recent.unpriced else recent.usd), recent.input_tokens, recent.output_tokens


def _recent(
    db: Database, evaluator: RuleEvaluator, is_free: Callable[[RuleEvaluator], bool]
) -> tuple[Basis, RecentCost | None]:
    if is_free(evaluator):
        return "free", None
    fingerprint = evaluator.fingerprint.partition("+")[0]
    if same := recent_cost(db, fingerprint, SAMPLES):
        return "same_version", same
    former = former_fingerprint(db, evaluator.name, evaluator.type, fingerprint)
    if former and (cost := recent_cost(db, former, SAMPLES)):
        return "former_version", cost
    return "unknown", None


def _times(mean: float | None, count: int) -> float | None:
    """Return what so many take; nothing takes nothing, whatever is known."""
    return 0.0 if not count else None if mean is None else mean * count


def _whole(mean: float | None, count: int) -> int | None:
    total = _times(mean, count)
    return None if total is None else round(total)
