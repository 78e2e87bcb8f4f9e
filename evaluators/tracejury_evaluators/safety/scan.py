"""What evaluators of forbidden content share: looking for it, and telling of it unshown."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic

from tracejury.evaluator import Evaluator
from tracejury.evaluator.base import C
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import counted
from tracejury_evaluators.patterns import TooMany, decoded, matches
from tracejury_evaluators.safety.passages import Passage, Place, look

MAX_FINDINGS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Something found in a text: its kind, and how it is told of."""

    kind: str
    shown: str


Finder = Callable[[str], Iterable[Hit]]


class Scan(Evaluator[C], Generic[C]):
    """Fails where something is found in the texts of a run, in the places it looks at."""

    @abstractmethod
    def places(self) -> Sequence[Place]:
        """Where to look."""

    @abstractmethod
    def finder(self, trace: Trace, criteria: C) -> Finder | Skip:
        """What looks through one text."""

    def evaluate(self, trace: Trace, criteria: C) -> Score | Skip:
        finder = self.finder(trace, criteria)
        if isinstance(finder, Skip):
            return finder
        sight = look(trace, self.places())
        if isinstance(sight, Skip):
            return sight
        found: list[tuple[Passage, Hit]] = []
        unseen = sight.unseen
        for passage in sight.passages:
            try:
                for hit in islice(finder(passage.text), MAX_FINDINGS - len(found)):
                    found.append((passage, hit))  # noqa: PERF401 - what came before TooMany counts
            except TooMany:
                unseen = f"{passage.name} has too many candidates to check"
        if not found and unseen:
            return Skip(f"nothing was found, but {unseen}")
        return _score(found, [passage.name for passage in sight.passages])


def _score(found: Sequence[tuple[Passage, Hit]], looked: Sequence[str]) -> Score:
    if not found:
        places = ", ".join(dict.fromkeys(looked))
        return Score(1.0, "pass", f"nothing found in {places}", details={"found": {}})
    counts = Counter(hit.kind for _, hit in found)
    told = [f"{hit.kind} in {passage.name}: {hit.shown}" for passage, hit in found]
    return Score(
        0.0,
        "fail",
        f"{counted(len(found), 'finding')}: {told[0]}",
        misses=list(dict.fromkeys(told)),
        details={"found": dict(counts), "places": sorted({passage.place for passage, _ in found})},
        evidence=list(dict.fromkeys(passage.span_id for passage, _ in found if passage.span_id)),
    )


def candidates(
    expression: Any, text: bytes, group: int = 1, check: Callable[[str], bool] | None = None
) -> Iterator[str]:
    """The values that a pattern matches and a check takes.

    Raises: TooMany past the most that are checked.
    """
    for start, end in matches(expression, text, group, check):
        yield decoded(text[start:end])


def masked(text: str) -> str:
    """The shape of a text: letters as x, digits as #, the rest as it is."""
    shape = "".join("#" if ch.isdigit() else "x" if ch.isalpha() else ch for ch in text[:60])
    return shape if len(text) <= 60 else f"{shape}…"
