"""What a label is, and what the number, word or truth value that it gives means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tracejury.result import ROUNDING, Verdict

LabelSource = Literal["api", "span_event", "span", "log"]

MAX_ID_CHARS: Final = 200
MAX_NAME_CHARS: Final = 200
MAX_COMMENT_CHARS: Final = 10_000

# Only words that say the same whatever was asked: "yes" may be good news or bad.
_VERDICTS: Final[Mapping[str, Verdict]] = {
    **dict.fromkeys(("pass", "passed", "correct", "thumbs_up", "👍"), "pass"),
    **dict.fromkeys(("partial", "partially_correct"), "partial"),
    **dict.fromkeys(("fail", "failed", "incorrect", "thumbs_down", "👎"), "fail"),
}
_SCORES: Final[Mapping[Verdict | None, float]] = {"pass": 1.0, "fail": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """`value` as given on whatever scale, `score` in [0, 1], a verdict, and the word as given."""

    value: float | None = None
    score: float | None = None
    verdict: Verdict | None = None
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One thing that was said; "" and None where it was not said.

    It is about the span if there is a `span_id`, else about the trace if there is a `trace_id`,
    else about the session. `created_at_ns` is 0 where the sender gave no time.
    """

    label_id: str
    name: str
    source: LabelSource
    trace_id: str = ""
    span_id: str = ""
    session_id: str = ""
    project: str = ""
    value: float | None = None
    score: float | None = None
    verdict: Verdict | None = None
    label: str = ""
    comment: str = ""
    author: str = ""
    created_at_ns: int = 0


def meaning(
    value: bool | float | str | None, *, label: str = "", verdict: Verdict | None = None
) -> Meaning:
    """What was said by a number, a truth value or a word, and perhaps a word beside it.

    True and False are pass and fail. A number says no verdict: whether 1 is good depends on what
    was asked. It is a score where it lies in [0, 1]; NaN and infinities are no numbers.
    """
    word = label or (value if isinstance(value, str) else "")
    number = None if isinstance(value, str) else _number(value)
    said = verdict or _VERDICTS.get(_plain(word)) or _truth(value)
    score = _SCORES.get(said) if number is None else _score(number)
    return Meaning(value=number, score=score, verdict=said, label=word)


def _number(value: float | None) -> float | None:
    try:
        number = math.nan if value is None else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _score(number: float) -> float | None:
    inside = -ROUNDING <= number <= 1 + ROUNDING
    return min(1.0, max(0.0, number)) if inside else None


def _truth(value: object) -> Verdict | None:
    if not isinstance(value, bool):
        return None
    return "pass" if value else "fail"


def _plain(word: str) -> str:
    return word.strip().lower().replace(" ", "_").replace("-", "_")
