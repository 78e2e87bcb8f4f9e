"""Several answers of a judge to one question: the majority's verdict, and how far they spread."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tracejury.bounds import clip
from tracejury.result import Score, Spent, Verdict

N = TypeVar("N", int, float)

MAX_REASONING_CHARS = 500
SEVERITY: Mapping[Verdict, int] = {"pass": 0, "partial": 1, "fail": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one answer of a judge says about a trace; `evidence` names span ids."""

    value: float
    verdict: Verdict
    reason: str = ""
    hits: Sequence[str] = ()
    misses: Sequence[str] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    evidence: Sequence[str] = ()


def majority(opinions: Sequence[Opinion]) -> Verdict:
    """The verdict that most opinions have; of as many, the most severe."""
    counts = Counter(opinion.verdict for opinion in opinions)
    return max(counts, key=lambda verdict: (counts[verdict], SEVERITY[verdict]))


def settled(
    opinions: Sequence[Opinion], asked: int, spent: Spent, about: Mapping[str, Any]
) -> Score:
    """The score of these opinions: the mean of their values, the majority's verdict and words."""
    verdict = majority(opinions)
    value = statistics.fmean(opinion.value for opinion in opinions)
    agreeing = [opinion for opinion in opinions if opinion.verdict == verdict]
    voice = min(agreeing, key=lambda opinion: abs(opinion.value - value))
    spread = _spread(opinions, asked) if asked > 1 else {}
    count = f" ({len(agreeing)} of {len(opinions)} votes)" if asked > 1 else ""
    return Score(
        value,
        verdict,
        reason=f"{voice.reason.strip() or 'the judge gave no reason'}{count}",
        hits=voice.hits,
        misses=voice.misses,
        details={**about, **voice.details, **spread},
        evidence=voice.evidence,
        spent=spent,
    )


def total(parts: Sequence[Spent]) -> Spent:
    """What all parts took together; unknown where one of them is."""
    return Spent(
        usd=_rounded(_sum([part.usd for part in parts])),
        input_tokens=_sum([part.input_tokens for part in parts]),
        output_tokens=_sum([part.output_tokens for part in parts]),
    )


def _spread(opinions: Sequence[Opinion], asked: int) -> dict[str, Any]:
    values = [opinion.value for opinion in opinions]
    return {
        "votes": [
            {
                "score": opinion.value,
                "verdict": opinion.verdict,
                "reasoning": clip(opinion.reason, MAX_REASONING_CHARS),
            }
            for opinion in opinions
        ],
        "std": statistics.pstdev(values),
        "min": min(values),
        "max": max(values),
        "unusable_votes": asked - len(opinions),
    }


def _sum(values: Sequence[N | None]) -> N | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) and known else None


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 12)
