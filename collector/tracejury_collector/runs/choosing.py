"""What a run decides on a page of targets: as its rule would have, less what is judged already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from tracejury_collector.conditions import Conditions
from tracejury_collector.rules import Decision, Rule, choose
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
        _decided(choose(rule, holds[subject.target_id], subject, run_id=run_id), judged)
        for subject in subjects_of(page)
    ]


def _decided(decision: Decision, judged: Judged) -> Decided:
    rule, done = decision.rule, judged.get(decision.subject.target_id)
    if decision.outcome != "selected" or not done:
        return Decided(decision=decision)
    left_out = tuple(e.name for e in rule.evaluators if e.fingerprint in done)
    if not left_out:
        return Decided(decision=decision)
    left = tuple(e for e in rule.evaluators if e.name not in left_out)
    reason = f"{decision.reason}; judged already by {_listed(left_out)}"
    partly = replace(decision, rule=replace(rule, evaluators=left), reason=reason)
    return Decided(decision=partly, left_out=left_out)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
