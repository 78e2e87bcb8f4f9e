"""What a script or webhook answered, as an outcome.

Source: AgentV, "Custom Evaluators Guide", output format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from tracejury.bounds import clip
from tracejury.evaluator import to_outcome
from tracejury.evaluator.returned import ALIASES, SCORE_FIELDS
from tracejury.result import Failure, Outcome, Score
from tracejury_evaluators.facts import listed

MAX_EXCERPT_CHARS = 300
MAX_SAID_CHARS = 2_000
KNOWN = (*SCORE_FIELDS, *ALIASES, "success")
UNUSABLE = "UnusableAnswer"


def outcome_of_answer(text: bytes, threshold: float) -> Outcome:
    """The outcome that an answer stands for; a failure with an excerpt where it is none.

    Fields that are no score's own are kept in its details.
    """
    try:
        answer = parse_answer(text)
        return _with_reason(to_outcome(_with_extras(answer), threshold))
    except (TypeError, ValueError) as error:
        return Failure(UNUSABLE, f"the answer cannot be used: {error}; it was {excerpt(text)}")


def parse_answer(text: bytes) -> Mapping[str, Any]:
    """The JSON object in an answer.

    Raises: ValueError where it holds anything else.
    """
    try:
        answer = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8: {error.reason}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    if not isinstance(answer, dict):
        raise ValueError(f"it is no JSON object but {type(answer).__name__}")
    return answer


def said_in(text: bytes) -> str:
    """The reasoning and misses in what was printed before a failure; else an excerpt of it."""
    try:
        answer = parse_answer(text)
    except ValueError:
        return f"it printed {excerpt(text)}" if text.strip() else "it printed nothing"
    reason = answer.get("reasoning") or answer.get("reason")
    misses = answer.get("misses")
    parts = [f"it said {reason!r}"] if isinstance(reason, str) else []
    if isinstance(misses, list) and misses:
        parts.append(f"misses: {listed([str(miss) for miss in misses], limit=20)}")
    return clip("; ".join(parts) or f"it printed {excerpt(text)}", MAX_SAID_CHARS)


def excerpt(text: bytes) -> str:
    """The start of what was printed, quoted."""
    if not text:
        return "empty"
    return repr(clip(text[: 4 * MAX_EXCERPT_CHARS].decode("utf-8", "replace"), MAX_EXCERPT_CHARS))


def _with_extras(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer with the fields that no score has moved into its details."""
    extras = {name: value for name, value in answer.items() if name not in KNOWN}
    if not extras or "outcome" in answer:
        return answer
    own = {name: value for name, value in answer.items() if name in KNOWN}
    name = "metadata" if "metadata" in own else "details"
    details = own.get(name)
    if details is not None and not isinstance(details, Mapping):
        return own
    return own | {name: extras | dict(details or {})}


def _with_reason(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Score) and not outcome.reason:
        return replace(outcome, reason=f"scored {outcome.value:g}, without a reasoning")
    return outcome


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
