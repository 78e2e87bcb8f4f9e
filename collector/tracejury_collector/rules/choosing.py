"""What a rule decides on a revision: kind, condition, limit, stratum, sample, budget, load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import orjson

from tracejury_collector.config import ALWAYS, RUNS
from tracejury_collector.rules.model import (
    JUDGE_PROJECT,
    Checks,
    Decision,
    DecisionOutcome,
    Rule,
    SampledBy,
    Stratum,
    Subject,
    TargetKind,
)
from tracejury_collector.sampling import is_sampled, sample_key

_QUOTED_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """With what chance, in which stratum, the same rule sampled a target or conversation before."""

    stratum: str
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a decision depends on beside its rule and target.

    `cap_factor` lowers the rates of a rule with a cap, unless there is a `former` chance to keep
    to. `budget_refusal` and `overload` say why nothing more may be selected; "" if it may.
    """

    cap_factor: float = 1.0
    former: Former | None = None
    budget_refusal: str = ""
    overload: str = ""


UNHINDERED = Circumstances()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    outcome: DecisionOutcome
    reason: str
    probability: float | None = None
    stratum: str = ""


def decision_id(
    rule_fingerprint: str, run_id: str, target_kind: TargetKind, target_id: str, revision: int
) -> str:
    """Return the id of the one decision with this key."""
    key = [rule_fingerprint, run_id, target_kind, target_id, revision]
    return blake2b(orjson.dumps(key), digest_size=16).hexdigest()


def choose(
    rule: Rule,
    checks: Checks,
    subject: Subject,
    circumstances: Circumstances = UNHINDERED,
    run_id: str = "",
) -> Decision:
    """Return what `rule` decides on a finished revision: live, or in the run of that id."""
    chosen = _refused(rule, checks, subject) or _sampled(rule, checks, subject, circumstances)
    return Decision(
        decision_id=decision_id(
            rule.fingerprint, run_id, rule.target, subject.target_id, subject.revision
        ),
        rule=rule,
        subject=subject,
        outcome=chosen.outcome,
        reason=chosen.reason,
        probability=chosen.probability,
        run_id=run_id,
        stratum=chosen.stratum,
        sampled_by=None if chosen.probability is None else _sampled_by(rule, subject),
    )


def _refused(rule: Rule, checks: Checks, subject: Subject) -> _Chosen | None:
    """Return why the target is none of those that the rule samples."""
    if subject.project == JUDGE_PROJECT:
        return _Chosen(
            outcome="filtered", reason=f"it is a {subject.target_kind} of the jury's own judges"
        )
    if rule.kinds is not None and subject.kind not in rule.kinds:
        return _Chosen(outcome="filtered", reason=_other_kind(subject, rule.kinds))
    where = f"the condition {_quoted(rule.where)}"
    if checks.where.error:
        return _Chosen(outcome="condition_failed", reason=f"{where} failed: {checks.where.error}")
    if not checks.where.holds:
        return _Chosen(outcome="filtered", reason=f"{where} does not hold")
    if subject.is_past_limit:
        return _Chosen(outcome="revision_limit", reason=_too_often(subject))
    return None


def _sampled(rule: Rule, checks: Checks, subject: Subject, circumstances: Circumstances) -> _Chosen:
    stratum, error = _stratum(rule, checks)
    name = stratum.name if stratum else ""
    if stratum and error:
        return _Chosen(
            outcome="condition_failed",
            reason=f"{_called(stratum)}: its condition {_quoted(stratum.where)} failed: {error}",
            stratum=name,
        )
    chance = _chance(rule, name, circumstances)
    share = _share(rule, stratum, subject, chance)
    if not is_sampled(_sample_key(rule, subject), rule.name, chance):
        return _Chosen(
            outcome="sampled_out", reason=f"not in {share}", probability=chance, stratum=name
        )
    if circumstances.budget_refusal:
        reason = circumstances.budget_refusal
        return _Chosen(outcome="over_budget", reason=reason, probability=chance, stratum=name)
    if circumstances.overload:
        return _Chosen(outcome="overloaded", reason=circumstances.overload, stratum=name)
    reason = f"in {share}" if chance < 1 else _certain(stratum, subject)
    return _Chosen(outcome="selected", reason=reason, probability=chance, stratum=name)


def _stratum(rule: Rule, checks: Checks) -> tuple[Stratum | None, str]:
    """Return the stratum the target is in, None for the rest, and why that cannot be said."""
    for stratum, check in zip(rule.strata, checks.strata, strict=True):
        if check.error or check.holds:
            return stratum, check.error
    return None, ""


def _chance(rule: Rule, stratum: str, circumstances: Circumstances) -> float:
    """Return the chance with which the rule takes a target of this stratum now."""
    rate, former = rule.rate_of(stratum), circumstances.former
    if rule.per_minute is None:
        return rate
    if former is None:
        return rate * circumstances.cap_factor
    if former.stratum == stratum:
        return former.probability
    former_rate = rule.rate_of(former.stratum)
    if former_rate == 0:
        return rate * circumstances.cap_factor
    return rate * min(1.0, former.probability / former_rate)


def _sampled_by(rule: Rule, subject: Subject) -> SampledBy:
    by_session = "session" in (rule.sampled_by, subject.target_kind)
    return "session" if by_session and subject.session_id else "trace"


def _sample_key(rule: Rule, subject: Subject) -> str:
    by_session = _sampled_by(rule, subject) == "session"
    return sample_key(subject.target_id, subject.project, subject.session_id, by_session=by_session)


def _share(rule: Rule, stratum: Stratum | None, subject: Subject, chance: float) -> str:
    rate = stratum.rate if stratum else rule.rate
    by = "conversations in " if _sampled_by(rule, subject) == "session" else ""
    share = f"the sample of {chance * 100:g} %"
    if stratum:
        share += f" of {by}{_called(stratum)}"
    elif by:
        share += " of conversations"
    if chance < rate:
        share += f", lowered from {rate * 100:g} % to keep to {rule.per_minute} a minute"
    return share


def _certain(stratum: Stratum | None, subject: Subject) -> str:
    if stratum is None:
        return f"every {subject.target_kind} that passes is judged"
    if stratum.name == ALWAYS:
        return f"{_quoted(stratum.where)} holds, which is always judged"
    return f"every {subject.target_kind} in {_called(stratum)} is judged"


def _quoted(condition: str) -> str:
    """Return the condition as a reason tells it: reasons are stored with every decision."""
    if len(condition) > _QUOTED_CHARACTERS:
        condition = f"{condition[:_QUOTED_CHARACTERS]}…"
    return repr(condition)


def _called(stratum: Stratum) -> str:
    return f"stratum {stratum.name!r}"


def _other_kind(subject: Subject, kinds: Sequence[str]) -> str:
    what, kind = subject.target_kind, subject.kind
    if kind not in RUNS:
        return f"this {what} is no run: kind {kind}"
    return f"this {what} is of kind {kind}, not of {' or '.join(kinds)}"


def _too_often(subject: Subject) -> str:
    return (
        f"this is revision {subject.revision}, and what goes on changing is judged up to revision "
        f"{subject.max_revisions} (completion.max_revisions); a run can judge it"
    )
