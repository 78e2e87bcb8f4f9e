"""What rules are, what they decide on, and what a decision says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tracejury_collector.config import ALWAYS, Budget
from tracejury_collector.sampling import Draw

DecisionOutcome = Literal[
    "filtered",
    "sampled_out",
    "over_budget",
    "overloaded",
    "condition_failed",
    "revision_limit",
    "selected",
]
SAMPLED: tuple[DecisionOutcome, ...] = ("sampled_out", "over_budget", "overloaded", "selected")
"""Outcomes of targets that a rule's conditions left to its sample."""

TargetKind = Literal["trace", "session"]
SampledBy = Literal["trace", "session"]
JUDGE_PROJECT = "tracejury-judges"
"""Where the calls of judges are traced; no rule judges them, or judging would never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEvaluator:
    """An evaluator as a rule uses it; its `fingerprint` tells it from all others."""

    name: str
    type: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """A part of what a rule judges that has a rate of its own; `path` is its setting."""

    name: str
    where: str
    rate: float
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule in force; `kinds` None judges every kind of trace.

    A target is in the first of `strata` that holds, else it is sampled at `rate`.
    """

    name: str
    where: str
    rate: float
    strata: tuple[Stratum, ...] = ()
    per_minute: int | None = None
    sampled_by: SampledBy = "trace"
    evaluators: tuple[RuleEvaluator, ...]
    kinds: tuple[str, ...] | None = None
    target: TargetKind = "trace"
    budget: Budget = field(default_factory=Budget)
    fingerprint: str

    def rate_of(self, stratum: str) -> float:
        """Return the rate of a stratum by name; that of the rest for "" and for unknown names."""
        if stratum == ALWAYS:
            return 1.0
        return next((s.rate for s in self.strata if s.name == stratum), self.rate)

    @property
    def top_rate(self) -> float:
        """The highest rate at which it samples anything."""
        return max(self.rate, *(s.rate for s in self.strata), 0.0)

    @property
    def draw(self) -> Draw:
        """What it samples of traces, at most."""
        by_session = self.sampled_by == "session"
        return Draw(salt=self.name, rate=self.top_rate, by_session=by_session)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionResult:
    """Whether a condition holds for a target; `error` says why that could not be found out."""

    holds: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What a rule's conditions say of a target: its own, and those of its strata in order."""

    where: ConditionResult
    strata: tuple[ConditionResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A finished revision that rules decide on; its arrivals lie between the sequence numbers.

    `kind` is the kind of trace, of a session the most of an agent among those of its traces;
    `session_id` is "" for a trace outside of any conversation.
    `upstream_probability` is the chance with which it was kept before it came here.
    `former_ns` is when the revision before was finished, 0 for a first one.
    Revisions after the first `max_revisions` are not judged; None sets no bound.
    """

    target_kind: TargetKind = "trace"
    target_id: str
    revision: int
    kind: str
    project: str = ""
    session_id: str = ""
    upstream_probability: float = 1.0
    former_ns: int = 0
    first_seq: int = 0
    last_seq: int = 0
    max_revisions: int | None = None

    @property
    def is_past_limit(self) -> bool:
        """Whether it was judged so often that it is not judged again."""
        return self.max_revisions is not None and self.revision > self.max_revisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a rule decided on one revision.

    `probability` is the chance with which its sample took it, and `sampled_by` what that sample is
    drawn by; both are None where nothing was sampled. `stratum` is "" outside of all strata.
    """

    decision_id: str
    rule: Rule
    subject: Subject
    outcome: DecisionOutcome
    reason: str
    probability: float | None
    run_id: str = ""
    stratum: str = ""
    sampled_by: SampledBy | None = None
