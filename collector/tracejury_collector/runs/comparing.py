"""What a shadow run found: an evaluator and a candidate for its place, on the same revisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from tracejury.result import Verdict
from tracejury_collector.agreement import Agreement, Pair, agreement
from tracejury_collector.store.runs import Compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a candidate does by the evaluator whose place it might take.

    Only revisions are compared on which both gave a verdict: `agreement` takes the candidate as the
    judge in question. `changed` are those with another verdict. `mean_scores` are those of the
    evaluator and of the candidate, over revisions that both scored.
    """

    agreement: Agreement
    changed: Sequence[Compared]
    without_verdict: int
    only_evaluator: int
    only_candidate: int
    mean_scores: tuple[float, float] | None


def compare(rows: Iterable[Compared]) -> Comparison:
    """Return what the outcomes of both on the targets of a run come to."""
    found = list(rows)
    both = [row for row in found if row.outcome == row.new_outcome == "score"]
    judged = [row for row in both if row.verdict and row.new_verdict]
    pairs = [
        Pair(
            target_id=row.target_id,
            judged=cast("Verdict", row.new_verdict),
            truth=cast("Verdict", row.verdict),
        )
        for row in judged
    ]
    return Comparison(
        agreement=agreement(pairs),
        changed=[row for row in judged if row.verdict != row.new_verdict],
        without_verdict=len(both) - len(judged),
        only_evaluator=sum(r.outcome == "score" != r.new_outcome for r in found),
        only_candidate=sum(r.new_outcome == "score" != r.outcome for r in found),
        mean_scores=_means(both),
    )


def _means(both: Sequence[Compared]) -> tuple[float, float] | None:
    if not both:
        return None
    olds, news = (row.score or 0.0 for row in both), (row.new_score or 0.0 for row in both)
    return sum(olds) / len(both), sum(news) / len(both)
