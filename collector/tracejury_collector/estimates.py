"""Pass rates of the traffic from a sample of it: weighted, with an interval that can be trusted.

A judged target stands for 1 / (probability that it was kept and sampled) targets. The pass rate is
Hájek's: the weights of what passed over the weights of what was judged.

`base.pass_moments` and `base.pass_rates` say the same in SQL; a test holds them together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tracejury_collector.intervals import Share, t_quantile, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judged target, and how many of the traffic it stands for: `weight` > 0.

    `cluster` is what was drawn: the session where sessions were sampled, else the target.
    """

    passes: bool
    weight: float
    cluster: str
    stratum: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What an estimate needs of the judged targets.

    `spread` is the sum over clusters of the squared residuals of their weights, `cluster_square`
    that of their squared weights, and `excess` what the strata in which nearly all agree may hide
    of the spread.
    """

    judged: int
    clusters: int
    weight: float
    weight_passed: float
    cluster_square: float
    spread: float
    excess: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A pass rate, and how many targets drawn evenly would tell as much."""

    share: Share
    effective_n: float


def estimate(m: Moments) -> Estimate | None:
    """Return the pass rate with its 95 % interval; None where nothing was judged.

    The variance is linearized over what was drawn; the interval is Wilson's at the effective
    number, with the quantile of t for that many clusters. It is about the rate behind the traffic:
    it keeps its width where everything was judged.

    Source: Särndal, Swensson, Wretman, Model Assisted Survey Sampling (1992), 5.7; Korn, Graubard,
    Surv. Methodol. 24 (1998) 193.
    """
    if m.judged == 0:
        return None
    n = _effective_n(m)
    share = wilson(_rate(m), n, t_quantile(m.clusters - 1))
    return Estimate(share=share, effective_n=n)


def moments(judged: Sequence[Judged]) -> Moments:
    """Return the moments of judged targets."""
    weight = math.fsum(j.weight for j in judged)
    passed = math.fsum(j.weight for j in judged if j.passes)
    rate = passed / weight if weight else 0.0
    clusters: dict[str, list[Judged]] = defaultdict(list)
    strata: dict[str, list[Judged]] = defaultdict(list)
    for j in judged:
        clusters[j.cluster].append(j)
        strata[j.stratum].append(j)
    return Moments(
        judged=len(judged),
        clusters=len(clusters),
        weight=weight,
        weight_passed=passed,
        cluster_square=_cluster_square(judged),
        spread=math.fsum(_residual(members, rate) ** 2 for members in clusters.values()),
        excess=math.fsum(_excess(members) for members in strata.values()),
    )


def _rate(m: Moments) -> float:
    return min(1.0, m.weight_passed / m.weight)


def _effective_n(m: Moments) -> float:
    """Return how many even draws tell as much; never more than were judged."""
    evenly = m.weight**2 / m.cluster_square
    rate = _rate(m)
    if m.clusters <= 2 or not 0 < rate < 1:
        return min(evenly, m.judged)
    variance = m.spread * m.clusters / (m.clusters - 1) + m.excess
    information = rate * (1 - rate) * m.weight**2
    return information / max(variance, information / m.judged)


def _residual(members: Sequence[Judged], rate: float) -> float:
    return math.fsum(j.weight * (j.passes - rate) for j in members)


def _cluster_square(judged: Sequence[Judged]) -> float:
    weights: dict[str, float] = defaultdict(float)
    for j in judged:
        weights[j.cluster] += j.weight
    return math.fsum(w * w for w in weights.values())


def _excess(members: Sequence[Judged]) -> float:
    """Return by how much a stratum's spread may be more than it looks.

    Few draws that all pass tell of no spread, and may come from a stratum in which some fail. So
    the spread of Laplace's estimate, one more pass and one more fail, is the least.
    """
    weight = math.fsum(j.weight for j in members)
    rate = math.fsum(j.weight for j in members if j.passes) / weight
    square = _cluster_square(members)
    draws = weight**2 / square
    careful = (rate * draws + 1) / (draws + 2)
    return square * max(0.0, careful * (1 - careful) - rate * (1 - rate))
