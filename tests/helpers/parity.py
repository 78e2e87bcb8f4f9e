"""What other libraries answer on the same cases, and what our evaluators answer to them.

`tests/data/parity` holds cases, and the answers of ten libraries run unmodified on them:
`{versions, answers: {mode: {case id: [score, passed, {note, ...}?]}}}`. Each mode of each library
on each kind of case is one `Mode`: offered by one of our evaluators, or not, with the reason.
`docs/parity.md` is written from them: `python -m tests.helpers.parity_docs`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tracejury.result import Outcome, Score, Skip

DATA = Path(__file__).parent.parent / "data" / "parity"
Case = Mapping[str, Any]
Answer = float | str | None
"""A number, "raises", or None where the library gave no answer."""


def no_difference(_case: Case) -> str:
    """Say of every case that the answers are equal."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One mode of a library on one kind of case (the first letter of the case ids).

    `ours` is how a user writes it, such as `tool-sequence {mode: exact}`; "" where it is not
    offered, and then `note` says why. `judge` runs our evaluator on a case. `read` gives the
    library's answer on our scale, `answer` what of our outcome stands against it. `differs` names
    the reason why the answers to a case are different on purpose; the answers must then really
    differ. `note` explains differences.
    """

    library: str
    mode: str
    kind: str
    ours: str = ""
    judge: Callable[[Case], Outcome] | None = None
    read: Callable[[Any], Answer] | None = None
    answer: Callable[[Outcome], Answer] | None = None
    differs: Callable[[Case], str] = no_difference
    note: str = ""

    def theirs(self, case_id: str) -> Answer:
        """Return what the library answered."""
        recorded = answers(self.library)[self.mode][case_id]
        return (self.read or score_of)(recorded)

    def ours_to(self, case: Case) -> Answer:
        """Return what our evaluator answers; the mode must be offered."""
        assert self.judge is not None, f"{self.library} {self.mode} is not offered"
        return (self.answer or our_answer)(self.judge(case))


def score_of(recorded: Any) -> Answer:
    """Return the score as a number: bools and yes/no as 1 and 0."""
    score, extra = recorded[0], recorded[2] if len(recorded) > 2 else {}
    if score is None:
        return "raises" if str(extra.get("note", "")).startswith("raises") else None
    if isinstance(score, str):
        return {"yes": 1.0, "no": 0.0}[score]
    return float(score)


def passed_of(recorded: Any) -> Answer:
    """Return the library's own verdict as 1 or 0."""
    return None if recorded[1] is None else float(recorded[1])


def our_answer(outcome: Outcome) -> Answer:
    """Return our answer: the value; None where we skip; "raises" where the evaluator failed."""
    if isinstance(outcome, Score):
        return outcome.value
    return None if isinstance(outcome, Skip) else "raises"


def equal(ours: Answer, theirs: Answer) -> bool:
    """Say whether two answers are the same, numbers to 1e-9."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) <= 1e-9
    return ours == theirs


@cache
def answers(library: str) -> dict[str, dict[str, Any]]:
    """Return a library's answers by mode and case id."""
    data = json.loads((DATA / "answers" / f"{library}.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = data["answers"]
    return found


@cache
def cases() -> dict[str, Case]:
    """Return all cases by id."""
    files = sorted((DATA / "cases").glob("*.json"))
    rows = [row for path in files for row in json.loads(path.read_text(encoding="utf-8"))]
    return {row["id"]: row for row in rows}


def recorded_modes() -> set[tuple[str, str, str]]:
    """Return every (library, mode, kind of case) of which there are answers."""
    return {
        (path.stem, mode, case_id[0])
        for path in (DATA / "answers").glob("*.json")
        for mode, by_case in answers(path.stem).items()
        for case_id in by_case
    }


def case_ids(mode: Mode) -> list[str]:
    """Return the ids of the cases that the library answered in this mode."""
    return [case_id for case_id in answers(mode.library)[mode.mode] if case_id[0] == mode.kind]


def unlike(
    judge: Callable[[Case], Outcome], transform: Callable[[Case], Case], reason: str
) -> Callable[[Case], str]:
    """Say of a case whether the library's own reading of it changes the answer.

    `transform` rewrites a case as the library reads it, such as true as 1; where our answer to
    the rewritten case is another, the answers to the case differ for this reason.
    """

    def differs(case: Case) -> str:
        same = equal(our_answer(judge(case)), our_answer(judge(transform(case))))
        return "" if same else reason

    return differs


def first_of(*reasons: Callable[[Case], str]) -> Callable[[Case], str]:
    """Return the first reason that applies to a case."""
    return lambda case: next(filter(None, (reason(case) for reason in reasons)), "")
