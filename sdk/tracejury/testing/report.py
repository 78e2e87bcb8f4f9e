"""What a check of an evaluator found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from tracejury.result import Outcome, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One judgement: of which trace, with or without criteria, and how long it took."""

    trace: str
    with_criteria: bool
    outcome: Outcome
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The judgements of one evaluator, and each way in which it breaks the protocol.

    `findings` have to be mended; `notes` are worth knowing.
    """

    type: str
    judged: tuple[Judged, ...]
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def median_ms(self) -> float:
        """The median time of one judgement, milliseconds; 0 where there was none."""
        return median(item.duration_ms for item in self.judged) if self.judged else 0.0

    @property
    def slowest(self) -> Judged | None:
        """The judgement that took longest."""
        return max(self.judged, key=lambda item: item.duration_ms, default=None)

    def counts(self) -> dict[str, int]:
        """How often each verdict or outcome came: pass, partial, fail, skip, failure."""
        return dict(Counter(outcome_word(item.outcome) for item in self.judged))

    def __str__(self) -> str:
        """The report in lines: the sum, the times, then findings and notes."""
        return "\n".join(
            [
                f"{self.type}: {len(self.judged)} judgements{_counted(self.counts())}",
                *([self._times()] if self.judged else []),
                *(f"  wrong: {finding}" for finding in self.findings),
                *(f"  note: {note}" for note in self.notes),
            ]
        )

    def _times(self) -> str:
        slowest = self.slowest
        worst = f", slowest {slowest.duration_ms:.3f} ms on {slowest.trace!r}" if slowest else ""
        return f"  median {self.median_ms:.3f} ms a judgement{worst}"


def outcome_word(outcome: Outcome) -> str:
    """The verdict of a score, else skip or failure."""
    if isinstance(outcome, Score):
        return outcome.verdict or "score"
    return type(outcome).__name__.lower()


def _counted(counts: dict[str, int]) -> str:
    parts = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
    return f" ({parts})" if parts else ""
