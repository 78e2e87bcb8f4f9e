"""Expected calls against those calls of their tool that are looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from tracejury.result import Score, Skip
from tracejury_evaluators.facts import call_spans, counted, listed
from tracejury_evaluators.tools.alignment import free_pairs
from tracejury_evaluators.tools.fields import Scoring
from tracejury_evaluators.tools.matching import Called, Named, Rows, doubt

Occurrence = Annotated[
    Literal["any", "first", "last", "nth", "all"],
    Field(
        description="which calls of a tool are looked at: `any` that fits, the `first`, the "
        "`last`, the `nth` for its nth mention, or `all`"
    ),
]


def judged(
    rows: Rows,
    wanted: Sequence[Named],
    made: Called,
    occurrence: Occurrence,
    scoring: Scoring,
    looked_at: str,
) -> Score | Skip:
    """The share of expected calls that were made; a skip where what was not recorded decides.

    `looked_at` names what was compared, for messages.
    """
    met = _met(rows.sure, wanted, made, occurrence)
    value = _value(len(met), len(wanted), scoring)
    if rows.possible != rows.sure:
        best = _met(rows.possible, wanted, made, occurrence)
        if _value(len(best), len(wanted), scoring) > value:
            return Skip(doubt(made))
    return _scored(value, met, wanted, made, looked_at)


def _value(met: int, wanted: int, scoring: Scoring) -> float:
    value = met / wanted if wanted else 1.0
    return value if scoring == "graded" else float(value == 1)


def _met(
    rows: Sequence[int], wanted: Sequence[Named], made: Called, occurrence: Occurrence
) -> dict[int, Sequence[int]]:
    """The expected calls that were made, each with the calls that stand for it."""
    if occurrence == "any":
        return {expected: (call,) for expected, call in free_pairs(rows)}
    mentions: Counter[str] = Counter()
    met: dict[int, Sequence[int]] = {}
    for index, want in enumerate(wanted):
        looked_at = _looked_at(made.positions.get(want.name, ()), occurrence, mentions[want.name])
        mentions[want.name] += 1
        if looked_at and all(rows[index] >> position & 1 for position in looked_at):
            met[index] = looked_at
    return met


def _looked_at(positions: Sequence[int], occurrence: Occurrence, mention: int) -> Sequence[int]:
    if occurrence == "all":
        return positions
    if occurrence == "last":
        return positions[-1:]
    return positions[:1] if occurrence == "first" else positions[mention : mention + 1]


def _scored(
    value: float,
    met: Mapping[int, Sequence[int]],
    wanted: Sequence[Named],
    made: Called,
    looked_at: str,
) -> Score:
    unmet = [want for index, want in enumerate(wanted) if index not in met]
    told = [_told(want, made, looked_at) for want in unmet]
    said = f"{len(met)} of {counted(len(wanted), 'expected call')} made with these {looked_at}"
    names = {want.name for want in unmet}
    wrong = [made.calls[position] for name in names for position in made.positions.get(name, ())]
    right = [made.calls[position] for positions in met.values() for position in positions]
    return Score(
        value,
        reason=f"{said}; not: {listed(told)}" if told else said,
        hits=[wanted[index].text for index in met],
        misses=told,
        details={
            "expected": len(wanted),
            "matched": len(met),
            "calls": [index in met for index in range(len(wanted))],
        },
        evidence=call_spans(wrong or right),
    )


def _told(want: Named, made: Called, looked_at: str) -> str:
    """An expected call that was not made as expected, and whether its tool was called at all."""
    if want.name not in made.positions:
        return f"{want.text}, never called"
    return f"{want.text}, called with other {looked_at}"
