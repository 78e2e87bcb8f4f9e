"""The one place where what an author returned becomes an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracejury.bounds import bounded
from tracejury.evaluator.validation import nearest
from tracejury.result import (
    Failure,
    Outcome,
    Score,
    Skip,
    default_verdict,
    outcome_from_json,
    unit_value,
)

ALIASES = {"score": "value", "reasoning": "reason", "metadata": "details"}
SCORE_FIELDS = ("value", "verdict", "reason", "hits", "misses", "details", "evidence")


def to_outcome(returned: object, threshold: float = 1.0) -> Outcome:
    """The outcome that an author's return value stands for, bounded, with a verdict.

    A bool passes or fails; a number is a score; a mapping holds a score's fields, where `score`
    stands for value, `reasoning` for reason, `metadata` for details, and `success` decides the
    verdict; a mapping that names an `outcome` is read as one.
    Raises: TypeError, ValueError where the value is none of these; the message says why.
    """
    if isinstance(returned, (Score, Skip, Failure)):
        return bounded(returned, threshold)
    if isinstance(returned, Mapping):
        return bounded(_from_mapping(returned), threshold)
    if returned is None or isinstance(returned, (str, bytes)):
        raise TypeError(
            f"the evaluator returned {type(returned).__name__}; "
            "return a bool, a number in [0, 1], a Score, a Skip or a mapping"
        )
    value = unit_value(returned)
    return Score(value, default_verdict(value, threshold))


def _from_mapping(returned: Mapping[str, Any]) -> Outcome:
    if "outcome" in returned:
        return outcome_from_json(returned)
    fields = _named(returned)
    success = fields.pop("success", None)
    if success is not None:
        _require_bool(success)
        fields.setdefault("verdict", "pass" if success else "fail")
        fields.setdefault("value", float(success))
    if "value" not in fields:
        raise ValueError(f"the returned mapping has no score: its keys are {sorted(returned)}")
    return Score(**fields)


def _named(returned: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping's entries under the names of a score's fields; None stands for left out."""
    fields: dict[str, Any] = {}
    for key, value in returned.items():
        name = ALIASES.get(key, key)
        if name not in SCORE_FIELDS and name != "success":
            hint = nearest(str(key), [*SCORE_FIELDS, *ALIASES, "success"])
            raise ValueError(f"the returned mapping has an unknown key {key!r}{hint}")
        if name in fields:
            raise ValueError(f"the returned mapping names {name!r} twice")
        if value is not None:
            fields[name] = value
    return fields


def _require_bool(value: object) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"success is true or false, not {type(value).__name__}")
