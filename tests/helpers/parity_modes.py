"""All modes of all libraries, and how our answers compare with theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module

from tests.helpers.parity import Answer, Mode, case_ids, cases, equal

MODULES = {"parity_tools": "teko", "parity_text": "x", "parity_json": "jsln"}
"""The modules that list modes, and the kinds of case that are theirs."""

KINDS = "".join(MODULES.values())


def all_modes() -> list[Mode]:
    """Return every mode that is listed, module by module."""
    return [mode for name in MODULES for mode in import_module(f"tests.helpers.{name}").MODES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One case as a library and as we answered it; `reason` why they differ on purpose."""

    case_id: str
    theirs: Answer
    ours: Answer
    reason: str

    @property
    def as_stated(self) -> bool:
        """Whether the answers are equal, or different where a reason says so."""
        return equal(self.ours, self.theirs) == (not self.reason)


@dataclass(slots=True)
class Tally:
    """How many cases were answered alike, and how many were not, by reason."""

    equal: int = 0
    different: Counter[str] = field(default_factory=Counter)


def answered(mode: Mode) -> Iterator[Answered]:
    """Yield both answers to every case of a mode that is offered."""
    for case_id in case_ids(mode):
        case = cases()[case_id]
        yield Answered(
            case_id=case_id,
            theirs=mode.theirs(case_id),
            ours=mode.ours_to(case),
            reason=mode.differs(case),
        )


def tally(mode: Mode) -> Tally:
    """Count the cases of a mode that is offered."""
    counts = Tally()
    for case in answered(mode):
        if case.reason:
            counts.different[case.reason] += 1
        else:
            counts.equal += 1
    return counts
