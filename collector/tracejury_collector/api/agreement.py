"""Agreement: how far evaluators and labels say the same."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest import Agreement, Confusion, CorrectedRate, Page, ShareEstimate
from tracejury_collector.agreement import agreement, corrected_pass_rate
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.api.times import parse_time
from tracejury_collector.intervals import Share
from tracejury_collector.store.labeled import Labeled, LabeledFilter, labeled
from tracejury_collector.store.pass_rates import PassRate, PassRateFilter, pass_rates

DIFFERING_SHOWN = 100
_NEEDED = (
    "no trace that the evaluator passed has a label, or none of those that it did not pass; "
    "label some of each"
)

router = APIRouter(tags=["rates"])


class AgreementQuery(BaseModel):
    """Which evaluators and labels; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid")

    evaluator: str | None = Field(default=None, description="only this evaluator")
    label: str | None = Field(default=None, description="only labels of this name")
    since: str | None = Field(
        default=None, description="judged then or later: RFC 3339, or 90m, 6h, 2d ago"
    )
    until: str | None = Field(default=None, description="judged before: RFC 3339, or 90m ago")


@router.get("/api/agreement", responses=problems(400, 422))
def list_agreement(context: Context, query: Annotated[AgreementQuery, Query()]) -> Page[Agreement]:
    """Compare evaluators with labels on the traces that have both."""
    now_ns = time.time_ns()
    since_ns = parse_time(query.since, "since", now_ns) if query.since else None
    until_ns = parse_time(query.until, "until", now_ns) if query.until else None
    found = labeled(
        context.db,
        LabeledFilter(
            evaluator=query.evaluator, label=query.label, since_ns=since_ns, until_ns=until_ns
        ),
    )
    if not found:
        return Page(items=[])
    rates = pass_rates(
        context.db,
        PassRateFilter(evaluator=query.evaluator, since_ns=since_ns, until_ns=until_ns),
    )
    return Page(items=[_shown(group, rates) for group in found])


def _shown(group: Labeled, rates: Sequence[PassRate]) -> Agreement:
    found = agreement(group.pairs)
    own = (group.evaluator, group.fingerprint, group.criteria_hash)
    return Agreement(
        evaluator=group.evaluator,
        fingerprint=group.fingerprint,
        criteria_hash=group.criteria_hash,
        label=group.label,
        n=found.n,
        confusion=Confusion(**asdict(found.confusion)),
        agreed=_share(found.agreed),
        precision=_share(found.precision),
        recall=_share(found.recall),
        kappa=found.kappa,
        pass_rates=[
            _corrected(rate.keys["rule"], group, rate.estimate.share)
            for rate in rates
            if (rate.keys["evaluator"], rate.fingerprint, rate.criteria_hash) == own
            and rate.estimate
        ],
        differing=list(found.differing[:DIFFERING_SHOWN]),
        differing_count=len(found.differing),
    )


def _corrected(rule: str, group: Labeled, judged: Share) -> CorrectedRate:
    corrected = corrected_pass_rate(group.pairs, judged)
    return CorrectedRate(
        rule=rule,
        judged=ShareEstimate(**asdict(judged)),
        corrected=_share(corrected),
        reason="" if corrected else _NEEDED,
    )


def _share(share: Share | None) -> ShareEstimate | None:
    return ShareEstimate(**asdict(share)) if share else None
