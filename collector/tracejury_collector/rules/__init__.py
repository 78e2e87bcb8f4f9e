"""Which rules judge which revisions, and why: every rule ends in one decision per revision."""

from __future__ import annotations

from tracejury_collector.rules.choosing import (
    UNHINDERED,
    Circumstances,
    Former,
    choose,
    decision_id,
)
from tracejury_collector.rules.compiling import compile_rules
from tracejury_collector.rules.model import (
    JUDGE_PROJECT,
    SAMPLED,
    Checks,
    ConditionResult,
    Decision,
    DecisionOutcome,
    Rule,
    RuleEvaluator,
    SampledBy,
    Stratum,
    Subject,
    TargetKind,
)

__all__ = [
    "JUDGE_PROJECT",
    "SAMPLED",
    "UNHINDERED",
    "Checks",
    "Circumstances",
    "ConditionResult",
    "Decision",
    "DecisionOutcome",
    "Former",
    "Rule",
    "RuleEvaluator",
    "SampledBy",
    "Stratum",
    "Subject",
    "TargetKind",
    "choose",
    "compile_rules",
    "decision_id",
]
