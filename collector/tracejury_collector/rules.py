"""Which rules judge which revisions, and why: every rule ends in one decision per revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

import orjson

from tracejury_collector.config import RUNS, Budget, Config
from tracejury_collector.errors import ConfigError
from tracejury_collector.sampling import is_sampled

DecisionOutcome = Literal[
    "filtered",
    "sampled_out",
    "over_budget",
    "overloaded",
    "condition_failed",
    "revision_limit",
    "selected",
]
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
class Rule:
    """A rule in force; `kinds` None judges every kind of trace."""

    name: str
    where: str
    rate: float
    evaluators: tuple[RuleEvaluator, ...]
    kinds: tuple[str, ...] | None = None
    target: TargetKind = "trace"
    budget: Budget = field(default_factory=Budget)
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionResult:
    """Whether a condition holds for a trace; `error` says why that could not be found out."""

    holds: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A finished revision that rules decide on; its arrivals lie between the sequence numbers.

    `kind` is the kind of trace, of a session the most of an agent among those of its traces;
    `session_id` is "" for a trace outside of any conversation.
    `upstream_probability` is the chance with which it was kept before it came here.
    Revisions after the first `max_revisions` are not judged; None sets no bound.
    """

    target_kind: TargetKind = "trace"
    target_id: str
    revision: int
    kind: str
    project: str = ""
    session_id: str = ""
    upstream_probability: float = 1.0
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
    drawn by; both are None where nothing was sampled.
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


def compile_rules(config: Config, fingerprints: Mapping[str, str]) -> tuple[Rule, ...]:
    """Return the rules in force; `fingerprints` maps evaluator names to what tells them apart.

    Raises: ConfigError when a rule names one evaluator under two names.
    """
    specs = config.effective_evaluators()
    rules = []
    for name, spec in config.effective_rules().items():
        evaluators = tuple(
            RuleEvaluator(name=e, type=specs[e].type, fingerprint=fingerprints[e])
            for e in dict.fromkeys(spec.evaluators)
        )
        _refuse_twins(name, evaluators)
        identity: list[object] = [name, spec.target, spec.where, spec.sample.model_dump()]
        if spec.kinds is not None:
            identity.append(sorted(set(spec.kinds)))
        rules.append(
            Rule(
                name=name,
                where=spec.where,
                rate=spec.sample.rate,
                evaluators=evaluators,
                kinds=None if spec.kinds is None else tuple(dict.fromkeys(spec.kinds)),
                target=spec.target,
                budget=spec.budget,
                fingerprint=_hash([*identity, [[e.name, e.fingerprint] for e in evaluators]], 8),
            )
        )
    return tuple(rules)


def _refuse_twins(rule: str, evaluators: tuple[RuleEvaluator, ...]) -> None:
    first: dict[str, str] = {}
    for evaluator in evaluators:
        twin = first.setdefault(evaluator.fingerprint, evaluator.name)
        if twin != evaluator.name:
            raise ConfigError(
                f"rules.{rule}.evaluators: {twin!r} and {evaluator.name!r} are the same evaluator "
                "with the same config and criteria; keep one of them"
            )


def decision_id(
    rule_fingerprint: str, run_id: str, target_kind: TargetKind, target_id: str, revision: int
) -> str:
    """Return the id of the one decision with this key."""
    return _hash([rule_fingerprint, run_id, target_kind, target_id, revision], 16)


def choose(rule: Rule, condition: ConditionResult, subject: Subject) -> Decision:
    """Return what `rule` decides on a finished revision, live."""
    outcome, reason, probability = _outcome(rule, condition, subject)
    return Decision(
        decision_id=decision_id(
            rule.fingerprint, "", rule.target, subject.target_id, subject.revision
        ),
        rule=rule,
        subject=subject,
        outcome=outcome,
        reason=reason,
        probability=probability,
        sampled_by=None if probability is None else "trace",
    )


def _outcome(
    rule: Rule, condition: ConditionResult, subject: Subject
) -> tuple[DecisionOutcome, str, float | None]:
    if subject.project == JUDGE_PROJECT:
        return "filtered", "it is a trace of the jury's own judges", None
    if rule.kinds is not None and subject.kind not in rule.kinds:
        return "filtered", _other_kind(subject.kind, rule.kinds), None
    if condition.error:
        return "condition_failed", f"the condition {rule.where!r} failed: {condition.error}", None
    if not condition.holds:
        return "filtered", f"the condition {rule.where!r} does not hold", None
    if subject.is_past_limit:
        return "revision_limit", _too_often(subject), None
    if rule.rate >= 1:
        return "selected", "every trace that passes is judged", 1.0
    share = f"the sample of {rule.rate * 100:g} %"
    if is_sampled(subject.target_id, rule.name, rule.rate):
        return "selected", f"in {share}", rule.rate
    return "sampled_out", f"not in {share}", rule.rate


def _other_kind(kind: str, kinds: Sequence[str]) -> str:
    if kind not in RUNS:
        return f"this trace is no run: kind {kind}"
    return f"this trace is of kind {kind}, not of {' or '.join(kinds)}"


def _too_often(subject: Subject) -> str:
    return (
        f"late arrivals made revision {subject.revision}, and only the first "
        f"{subject.max_revisions} are judged (completion.max_revisions); a run can judge it"
    )


def _hash(value: object, size_bytes: int) -> str:
    return blake2b(orjson.dumps(value), digest_size=size_bytes).hexdigest()
