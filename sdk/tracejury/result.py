"""What an evaluator says about a trace: `Outcome = Score | Skip | Failure`.

A score is a judgement; a skip says that there was nothing to judge; a failure says that the
evaluator broke. Neither of the latter is ever counted as a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, SupportsFloat, get_args

Verdict = Literal["pass", "partial", "fail"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MOST_SPENT = 10**15
_TOKENS = ("input_tokens", "output_tokens")
ROUNDING = 1e-9  # a weighted mean may leave [0, 1] by a rounding error


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a judgement itself took of a model: US dollars and tokens; None where unknown.

    More than `MOST_SPENT` counts as that.
    Raises: ValueError for what is no amount.
    """

    usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def __post_init__(self) -> None:
        for name, noun in (("usd", "number"), *((n, "whole number") for n in _TOKENS)):
            amount = getattr(self, name)
            if amount is None:
                continue
            if not _is_amount(amount, whole=name in _TOKENS):
                raise ValueError(f"{name} is a {noun} from 0 on, not {_shown(amount)}")
            object.__setattr__(self, name, min(amount, MOST_SPENT))


@dataclass(frozen=True, slots=True)
class Score:
    """A judgement: how well the trace did, and why.

    `value` is finite and in [0, 1]. Without a `verdict` one is derived from the value when the
    evaluator is run. `hits` and `misses` say what was found right and wrong, `evidence` names
    span ids; the three are kept as tuples. `details` is data for machines, kept as JSON. `spent`
    is what the judgement took of a model; None where it asked none.
    """

    value: float
    verdict: Verdict | None = None
    reason: str = ""
    hits: Sequence[str] = ()
    misses: Sequence[str] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    evidence: Sequence[str] = ()
    spent: Spent | None = None

    def __post_init__(self) -> None:
        assign = object.__setattr__
        if type(self.value) is not float or not 0.0 <= self.value <= 1.0:
            assign(self, "value", unit_value(self.value))
        if self.verdict is not None and self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is unknown; use one of {list(VERDICTS)}")
        # most scores leave some of these out, and one is made for every judgement
        if type(self.reason) is not str:
            _require_text("reason", self.reason)
        if type(self.hits) is not tuple or self.hits:
            assign(self, "hits", _texts("hits", self.hits))
        if type(self.misses) is not tuple or self.misses:
            assign(self, "misses", _texts("misses", self.misses))
        if type(self.evidence) is not tuple or self.evidence:
            assign(self, "evidence", _texts("evidence", self.evidence))
        if type(self.details) is not dict:
            _require_mapping("details", self.details)


@dataclass(frozen=True, slots=True)
class Skip:
    """No judgement, because the trace does not hold what would be judged; `reason` says what."""

    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)
    spent: Spent | None = None

    def __post_init__(self) -> None:
        _require_text("reason", self.reason)
        if not self.reason.strip():
            raise ValueError("a skip needs a reason: say what the trace did not hold")
        _require_mapping("details", self.details)


@dataclass(frozen=True, slots=True)
class Failure:
    """The evaluator itself broke: it raised, ran too long, or returned something unusable."""

    error_type: str
    message: str
    traceback: str = ""
    spent: Spent | None = None

    def __post_init__(self) -> None:
        for name in ("error_type", "message", "traceback"):
            _require_text(name, getattr(self, name))


Outcome = Score | Skip | Failure


def default_verdict(value: float, threshold: float = 1.0) -> Verdict:
    """pass at or above the threshold, fail at 0, partial between."""
    if value >= threshold:
        return "pass"
    return "partial" if value > 0 else "fail"


def unit_value(value: object) -> float:
    """The value as a float in [0, 1]; what lies outside by a rounding error is moved inside.

    Raises: TypeError for what is no number, ValueError for what is not finite or not in [0, 1].
    """
    number = value if type(value) is float else _number(value)
    if not math.isfinite(number) or not -ROUNDING <= number <= 1 + ROUNDING:
        raise ValueError(f"a score is a finite number in [0, 1], not {_shown(value)}")
    return min(1.0, max(0.0, number))


def _number(value: object) -> float:
    if isinstance(value, (str, bytes)) or not isinstance(value, SupportsFloat):
        raise TypeError(f"a score is a number in [0, 1], not {_shown(value)}")
    return float(value)


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as JSON data: its fields, and `outcome`: score, skip or failure.

    `spent` is left out where the judgement asked no model.
    """
    data = _fields(outcome)
    return data if outcome.spent is None else data | {"spent": asdict(outcome.spent)}


def _fields(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Score):
        return {
            "outcome": "score",
            "value": outcome.value,
            "verdict": outcome.verdict,
            "reason": outcome.reason,
            "hits": list(outcome.hits),
            "misses": list(outcome.misses),
            "details": dict(outcome.details),
            "evidence": list(outcome.evidence),
        }
    if isinstance(outcome, Skip):
        return {"outcome": "skip", "reason": outcome.reason, "details": dict(outcome.details)}
    return {
        "outcome": "failure",
        "error_type": outcome.error_type,
        "message": outcome.message,
        "traceback": outcome.traceback,
    }


OUTCOMES: dict[str, type[Score] | type[Skip] | type[Failure]] = {
    "score": Score,
    "skip": Skip,
    "failure": Failure,
}


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    """The outcome that `outcome_to_json` wrote.

    Raises: ValueError where the data is no outcome; the message names the field.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"an outcome is an object, not {_shown(data)}")
    fields = dict(data)
    kind = fields.pop("outcome", None)
    outcome_type = OUTCOMES.get(kind) if isinstance(kind, str) else None
    if outcome_type is None:
        raise ValueError(f"outcome {_shown(kind)} is unknown; use one of {list(OUTCOMES)}")
    try:
        if fields.get("spent") is not None:
            fields["spent"] = Spent(**fields["spent"])
        return outcome_type(**fields)
    except TypeError as error:
        raise ValueError(f"this is no {kind}: {error}") from error


def _is_amount(value: object, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value < math.inf and not (whole and isinstance(value, float))


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, not {_shown(value)}")


def _require_mapping(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is a mapping, not {_shown(value)}")


def _texts(name: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)) and (
        isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable)
    ):
        raise TypeError(f"{name} is a list of texts, not {_shown(values)}")
    texts = tuple(values)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"each of {name} is a text, not {_shown(text)}")
    return texts


def _shown(value: object) -> str:
    """A value as it stands in an error message: its type where its text is long."""
    text = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else ""
    return text if 0 < len(text) <= 80 else f"a value of type {type(value).__name__}"
