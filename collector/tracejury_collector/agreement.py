"""How well two judges agree on the same targets: kappa, precision, recall, a corrected pass rate.

Only `pass` passes; `partial` and `fail` do not. What an evaluator is there to find is what does not
pass, so that is what precision and recall are about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from tracejury.result import Verdict
from tracejury_collector.intervals import Share, effective_n, share_of, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two verdicts on one target: that of the judge in question, and that which it is held to.

    `weight` > 0 is how many targets of the traffic it stands for.
    """

    target_id: str
    judged: Verdict
    truth: Verdict
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How many targets each pair of verdicts has; "found" means judged not to pass."""

    rightly_found: int
    wrongly_found: int
    missed: int
    rightly_passed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How the judge in question does by the other; None where nothing can be said.

    `precision` is the share of what it found that does not pass in truth, `recall` the share that
    it found of what does not pass. `kappa` is over pass and not pass. `differing` are the targets
    on which one passes and the other does not, in the order given.
    """

    n: int
    confusion: Confusion
    agreed: Share | None
    precision: Share | None
    recall: Share | None
    kappa: float | None
    differing: tuple[str, ...]


def agreement(pairs: Sequence[Pair]) -> Agreement:
    """Return how well the judge in question agrees with the other, every pair counted once."""
    passed = [(pair.judged == "pass", pair.truth == "pass") for pair in pairs]
    counts = Counter(passed)
    confusion = Confusion(
        rightly_found=counts[False, False],
        wrongly_found=counts[False, True],
        missed=counts[True, False],
        rightly_passed=counts[True, True],
    )
    found = confusion.rightly_found + confusion.wrongly_found
    faulty = confusion.rightly_found + confusion.missed
    return Agreement(
        n=len(pairs),
        confusion=confusion,
        agreed=share_of(confusion.rightly_found + confusion.rightly_passed, len(pairs)),
        precision=share_of(confusion.rightly_found, found),
        recall=share_of(confusion.rightly_found, faulty),
        kappa=kappa(passed),
        differing=tuple(
            pair.target_id for pair, (a, b) in zip(pairs, passed, strict=True) if a != b
        ),
    )


def kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """Return Cohen's kappa, from -1 to 1, of two judges who put targets into categories.

    None without pairs, and where both use one and the same category for all: chance alone would
    explain that, and there is nothing beyond it to measure.

    Source: Cohen, Educ. Psychol. Meas. 20 (1960) 37.
    """
    counts = Counter(pairs)
    n = counts.total()
    first: Counter[Hashable] = Counter()
    second: Counter[Hashable] = Counter()
    for (a, b), count in counts.items():
        first[a] += count
        second[b] += count
    agreed = n * sum(count for (a, b), count in counts.items() if a == b)
    by_chance = sum(count * second[category] for category, count in first.items())
    return (agreed - by_chance) / (n * n - by_chance) if n * n > by_chance else None


def corrected_pass_rate(pairs: Sequence[Pair], judged: Share) -> Share | None:
    """Return the share of the traffic that passes in truth, from the judge's pass rate and labels.

    Within what the judge passed, and within what it did not, labeled targets stand for the rest;
    so reviewers may well pick by verdict. None while one of the two holds traffic and no label.
    Prediction-powered inference with its best weight comes to the same for two-valued verdicts.

    Source: Tenenbein, J. Am. Stat. Assoc. 65 (1970) 1350; Angelopoulos, Duchi, Zrnic, "PPI++"
    (2023), arXiv:2311.01453; intervals joined by the method of Zou and Donner, Stat. Med. 27
    (2008) 1693.
    """
    passed = _truth([pair for pair in pairs if pair.judged == "pass"])
    found = _truth([pair for pair in pairs if pair.judged != "pass"])
    if (passed is None and judged.value > 0) or (found is None and judged.value < 1):
        return None
    # Of what no traffic was seen of, the judge is presumed to be right.
    passed = passed or Share(value=1.0, low=0.0, high=1.0)
    found = found or Share(value=0.0, low=0.0, high=1.0)
    below, above = judged.value - judged.low, judged.high - judged.value
    if passed.value < found.value:
        below, above = above, below
    slope = passed.value - found.value
    part, rest = judged.value, 1 - judged.value
    value = part * passed.value + rest * found.value
    fall = math.hypot(
        part * (passed.value - passed.low), rest * (found.value - found.low), slope * below
    )
    rise = math.hypot(
        part * (passed.high - passed.value), rest * (found.high - found.value), slope * above
    )
    return Share(value=value, low=max(0.0, value - fall), high=min(1.0, value + rise))


def _truth(pairs: Sequence[Pair]) -> Share | None:
    """Return the weighted share of the targets that pass in truth; None without any."""
    if not pairs:
        return None
    weights = [pair.weight for pair in pairs]
    good = math.fsum(pair.weight for pair in pairs if pair.truth == "pass")
    return wilson(min(1.0, good / math.fsum(weights)), effective_n(weights))
