"""What a run decides on a page of targets: as its rule would have, less what is judged already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from tracejury_collector.conditions import Conditions
from tracejury_collector.rules import Decision, Rule, Subject, choose, decision_id
from tracejury_collector.runs.counts import Decided
from tracejury_collector.runs.paging import Page, subjects_of

Judged = Mapping[str, Set[str]]
"""The identities of the evaluators that have judged a target, by its id."""


def decide_targets(
    rule: Rule, run_id: str, conditions: Conditions, page: Page, judged: Judged
) -> list[Decided]:
    """Return one decision per target; `conditions` knows the rule's."""
    if page.facts is None:
        return []
    holds = conditions.evaluate(page.facts, rule.target)[rule.name]
    return [
        _decided(rule, run_id, choose(rule, holds[subject.target_id], subject), judged)
        for subject in subjects_of(page)
    ]


def _decided(rule: Rule, run_id: str, live: Decision, judged: Judged) -> Decided:
    decision = replace(live, decision_id=_id(rule, run_id, live.subject), run_id=run_id)
    done = judged.get(live.subject.target_id, frozenset())
    left_out = tuple(e.name for e in rule.evaluators if e.fingerprint in done)
    if decision.outcome != "selected" or not left_out:
        return Decided(decision=decision)
    left = tuple(e for e in rule.evaluators if e.name not in left_out)
    reason = f"{decision.reason}; judged already by {_listed(left_out)}"
    partly = replace(decision, rule=replace(rule, evaluators=left), reason=reason)
    return Decided(decision=partly, left_out=left_out)


def _id(rule: Rule, run_id: str, subject: Subject) -> str:
    return decision_id(
        rule.fingerprint, run_id, subject.target_kind, subject.target_id, subject.revision
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
