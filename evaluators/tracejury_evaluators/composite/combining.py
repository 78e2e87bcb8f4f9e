"""One outcome made of those of several members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from tracejury.bounds import clip
from tracejury.result import ROUNDING, Failure, Outcome, Score, Skip, Spent, Verdict

Aggregation = Literal["mean", "all", "any", "min", "max"]
N = TypeVar("N", int, float)
MAX_REASON_CHARS = 200
MAX_NESTED = 100
RANKS: dict[Verdict | None, int] = {"fail": 0, "partial": 1, "pass": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one member said."""

    name: str
    type: str
    weight: float
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The values from which the whole passes, and from which it is partial."""

    passing: float
    partial: float

    def verdict(self, value: float) -> Verdict:
        """The verdict for a value; a rounding error below a threshold does not count."""
        if value >= self.passing - ROUNDING:
            return "pass"
        return "partial" if value >= self.partial - ROUNDING else "fail"


def combined(
    judged: Sequence[Judged], aggregation: Aggregation, thresholds: Thresholds
) -> Score | Skip:
    """The outcome of the whole: a score of the members that count, a skip where none does.

    Members that skipped or failed, and those of weight 0, are told and do not count.
    """
    counted = [(one, one.outcome) for one in judged if one.weight and _is_score(one.outcome)]
    scores = [outcome for _, outcome in counted if isinstance(outcome, Score)]
    details = {"aggregation": aggregation, "members": told(judged)}
    if not scores:
        reasons = "; ".join(f"{one.name}: {_reason(one.outcome)}" for one in judged)
        return Skip(f"no member that counts could judge: {reasons}", details, spent(judged))
    value = _value(scores, [one.weight for one, _ in counted], aggregation)
    verdict = _verdict(scores, value, aggregation, thresholds)
    return Score(
        value,
        verdict,
        _sentence(judged, scores, value, aggregation),
        hits=[text for one in judged for text in _hits(one)],
        misses=[text for one in judged for text in _misses(one)],
        details=details,
        evidence=_evidence(judged),
        spent=spent(judged),
    )


def told(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """The members side by side, as data: each with its outcome, nested ones with their own."""
    rows = [_told(one) for one in judged]
    nested = any("members" in row for row in rows)
    if nested and sum(_size(row) for row in rows) > MAX_NESTED:
        for row in rows:
            row.pop("members", None)
    return rows


def spent(judged: Sequence[Judged]) -> Spent | None:
    """What all members took of models; None where none asked one."""
    parts = [one.outcome.spent for one in judged if one.outcome.spent is not None]
    if not parts:
        return None
    return Spent(
        usd=_total([part.usd for part in parts]),
        input_tokens=_total([part.input_tokens for part in parts]),
        output_tokens=_total([part.output_tokens for part in parts]),
    )


def _total(amounts: Sequence[N | None]) -> N | None:
    """The sum; None where one is unknown, for it would be too small."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known[1:], start=known[0]) if len(known) == len(amounts) else None


def _is_score(outcome: Outcome) -> bool:
    return isinstance(outcome, Score)


def _value(scores: Sequence[Score], weights: Sequence[float], aggregation: Aggregation) -> float:
    values = [score.value for score in scores]
    if aggregation in ("all", "min"):
        return min(values)
    if aggregation in ("any", "max"):
        return max(values)
    heaviest = max(weights)  # shares of it, so that the sum of enormous weights stays finite
    shares = [weight / heaviest for weight in weights]
    weighted = sum(value * share for value, share in zip(values, shares, strict=True))
    return weighted / sum(shares)


def _verdict(
    scores: Sequence[Score], value: float, aggregation: Aggregation, thresholds: Thresholds
) -> Verdict:
    verdicts = [score.verdict or "fail" for score in scores]
    if aggregation == "all":
        return min(verdicts, key=lambda verdict: RANKS[verdict])
    if aggregation == "any":
        return max(verdicts, key=lambda verdict: RANKS[verdict])
    return thresholds.verdict(value)


def _sentence(
    judged: Sequence[Judged], scores: Sequence[Score], value: float, aggregation: Aggregation
) -> str:
    passed = sum(score.verdict == "pass" for score in scores)
    how = "weighted mean" if aggregation == "mean" else aggregation
    text = f"{passed} of {len(scores)} members passed ({how} {value:.2f})"
    left = len(judged) - len(scores)
    if left:
        text += f", {left} not counted"
    first = next((one for one in judged if one.weight and _verdict_of(one) == "fail"), None)
    return text if first is None else f"{text}; {first.name}: {_reason(first.outcome)}"


def _verdict_of(one: Judged) -> Verdict | None:
    return one.outcome.verdict if isinstance(one.outcome, Score) else None


def _reason(outcome: Outcome) -> str:
    said = outcome.message if isinstance(outcome, Failure) else outcome.reason
    return clip(said, MAX_REASON_CHARS)


def _hits(one: Judged) -> list[str]:
    if not isinstance(one.outcome, Score):
        return []
    own = one.outcome.hits or ([_reason(one.outcome)] if one.outcome.verdict == "pass" else [])
    return [f"{one.name}: {text}" for text in own if text]


def _misses(one: Judged) -> list[str]:
    if not isinstance(one.outcome, Score):
        return []
    own = one.outcome.misses or ([_reason(one.outcome)] if one.outcome.verdict != "pass" else [])
    return [f"{one.name}: {text}" for text in own if text]


def _evidence(judged: Sequence[Judged]) -> list[str]:
    scores = [one.outcome for one in judged if isinstance(one.outcome, Score)]
    return list(dict.fromkeys(span_id for score in scores for span_id in score.evidence))


def _told(one: Judged) -> dict[str, Any]:
    row: dict[str, Any] = {"name": one.name, "type": one.type, "weight": one.weight}
    outcome = one.outcome
    if isinstance(outcome, Score):
        row |= {"outcome": "score", "value": outcome.value, "verdict": outcome.verdict}
    elif isinstance(outcome, Skip):
        row |= {"outcome": "skip"}
    else:
        row |= {"outcome": "failure", "error_type": outcome.error_type}
    row["reason"] = _reason(outcome)
    details = {} if isinstance(outcome, Failure) else outcome.details
    if one.type == "composite" and isinstance(details.get("members"), list):
        row["members"] = details["members"]
    return row


def _size(row: dict[str, Any]) -> int:
    return 1 + sum(_size(inner) for inner in row.get("members", []))
