"""Runs as documents of the API."""

from __future__ import annotations

from collections.abc import Iterable

from tracejury.rest import (
    ChangedVerdict,
    Comparison,
    EvaluatorEstimate,
    Run,
    RunCounts,
    RunEstimate,
    RunEvaluator,
    ShareEstimate,
)
from tracejury.view import rfc3339
from tracejury_collector.intervals import Share
from tracejury_collector.rules import RuleEvaluator
from tracejury_collector.runs import comparing
from tracejury_collector.runs.counts import Counts
from tracejury_collector.runs.desk import RunProgress
from tracejury_collector.runs.estimating import Estimate
from tracejury_collector.runs.plan import Plan, Shadow
from tracejury_collector.store.runs import Compared, RunTally

MOST_CHANGED = 1000
_REASON = 500


def run_document(progress: RunProgress, comparison: comparing.Comparison | None = None) -> Run:
    """Return a run, with what a comparison found where there is one."""
    run, plan = progress.run, progress.plan
    tallies = {tally.evaluator: tally for tally in progress.tallies}
    targets = plan.targets
    return Run(
        run_id=run.run_id,
        state=run.state,
        waiting=progress.waiting,
        error=run.error,
        rule=run.rule,
        target=plan.target,
        where=targets.where,
        trace_ids=None if targets.trace_ids is None else len(targets.trace_ids),
        since=None if targets.since_ns is None else rfc3339(targets.since_ns),
        until=None if targets.until_ns is None else rfc3339(targets.until_ns),
        rate=plan.spec.sample.rate,
        rejudge=plan.rejudge,
        created_at=rfc3339(run.created_at_ns) or "",
        finished_at=None if run.finished_at_ns is None else rfc3339(run.finished_at_ns),
        progress=round(progress.share, 4),
        total=run.targets,
        counts=_counts(progress.counts),
        to_judge=progress.to_judge,
        judged=progress.judged,
        cost_usd=_sum(tally.cost_usd for tally in progress.tallies),
        evaluators=[_evaluator(e, progress.counts, tallies.get(e.name)) for e in plan.evaluators],
        comparison=_comparison(plan.shadow, comparison) if plan.shadow and comparison else None,
    )


def estimate_document(plan: Plan, found: Estimate) -> RunEstimate:
    """Return what a run would do."""
    return RunEstimate(
        rule=plan.name,
        target=plan.target,
        total=found.total,
        complete=found.is_complete,
        counts=_counts(found.counts),
        to_judge=sum(e.to_judge for e in found.evaluators),
        cost_usd=found.usd,
        evaluators=[
            EvaluatorEstimate(
                name=e.name,
                type=e.type,
                fingerprint=e.fingerprint,
                to_judge=e.to_judge,
                judged_already=e.judged_already,
                cost_usd=e.usd,
                input_tokens=e.input_tokens,
                output_tokens=e.output_tokens,
                basis=e.basis,
                samples=e.samples,
            )
            for e in found.evaluators
        ],
    )


def _counts(counts: Counts) -> RunCounts:
    return RunCounts(
        examined=counts.examined,
        targets=counts.targets,
        judged_already=counts.judged,
        outcomes=dict(counts.outcomes),
    )


def _evaluator(evaluator: RuleEvaluator, counts: Counts, tally: RunTally | None) -> RunEvaluator:
    shown = RunEvaluator(
        name=evaluator.name,
        type=evaluator.type,
        fingerprint=evaluator.fingerprint,
        to_judge=counts.selected.get(evaluator.name, 0),
        judged_already=counts.left_out.get(evaluator.name, 0),
    )
    if tally is None:
        return shown
    names = (
        "scores", "skips", "failures", "passed", "not_passed",
        "cost_usd", "input_tokens", "output_tokens",
    )  # fmt: skip
    return shown.model_copy(update={name: getattr(tally, name) for name in names})


def _comparison(shadow: Shadow, found: comparing.Comparison) -> Comparison:
    confusion, means = found.agreement.confusion, found.mean_scores
    return Comparison(
        evaluator=shadow.evaluator,
        candidate=shadow.candidate,
        compared=found.agreement.n,
        agreed=_share(found.agreement.agreed),
        kappa=found.agreement.kappa,
        both_passed=confusion.rightly_passed,
        neither_passed=confusion.rightly_found,
        only_evaluator_passed=confusion.wrongly_found,
        only_candidate_passed=confusion.missed,
        without_verdict=found.without_verdict,
        only_evaluator_scored=found.only_evaluator,
        only_candidate_scored=found.only_candidate,
        mean_score=means[0] if means else None,
        candidate_mean_score=means[1] if means else None,
        changed_count=len(found.changed),
        changed=[_changed(row) for row in found.changed[:MOST_CHANGED]],
    )


def _changed(row: Compared) -> ChangedVerdict:
    return ChangedVerdict(
        trace_id=row.target_id,
        revision=row.revision,
        verdict=row.verdict or "",
        candidate_verdict=row.new_verdict or "",
        score=row.score,
        candidate_score=row.new_score,
        reason=(row.reason or "")[:_REASON],
        candidate_reason=(row.new_reason or "")[:_REASON],
    )


def _share(share: Share | None) -> ShareEstimate | None:
    if share is None:
        return None
    return ShareEstimate(value=share.value, low=share.low, high=share.high)


def _sum(costs: Iterable[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None
