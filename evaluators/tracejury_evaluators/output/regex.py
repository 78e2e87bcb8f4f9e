"""The evaluator that searches an answer for patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tracejury.evaluator import Criteria
from tracejury.evaluator.names import WithAliases
from tracejury.result import Score, Skip
from tracejury_evaluators.facts import Answer, counted
from tracejury_evaluators.output.base import Judge, TextEvaluator
from tracejury_evaluators.patterns import Pattern, compiled, decoded, encoded

MAX_PATTERNS = 100
EXCERPT_CHARS = 80
NO_PATTERN = Skip("no pattern is given, neither in the config nor in the criteria")


class WeightedPattern(WithAliases):
    """One of several patterns, and how much it counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: Pattern = Field(description="RE2 pattern, searched in the output")
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="how much it counts")
    must_match: bool = Field(default=True, description="false: the pattern must not match")
    description: str = Field(default="", description="what it looks for, as told in results")


Patterns = list[WeightedPattern]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A pattern made ready to be searched; `single` where it is the only one."""

    spec: WeightedPattern
    expression: Any
    single: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Whether a pattern matched an answer, what it matched, and the answer to that."""

    spec: WeightedPattern
    matched: bool
    observation: str

    @property
    def passed(self) -> bool:
        return self.matched == self.spec.must_match


class RegexCriteria(Criteria):
    """The pattern, or the patterns, of one case."""

    pattern: Pattern | None = Field(default=None, description="RE2 pattern, searched in the output")
    must_match: bool | None = Field(default=None, description="false: the pattern must not match")
    patterns: Patterns | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_PATTERNS,
        description="several patterns, weighted",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        return _one_of_both(self, self.pattern, self.patterns)


class Regex(TextEvaluator[RegexCriteria]):
    """Passes if the answer matches a pattern, or if it does not where `must_match` is false.

    Patterns are RE2 (no look-around, no back-references), which takes linear time whatever the
    answer holds; a match may stand anywhere in the answer. With several `patterns` the value is
    the weight of those that are as they must be, divided by the weight of all: all of them is a
    pass, some partial, none a fail. A case's patterns go before those of the config. An empty
    answer is matched like any other. Skipped where no pattern is given, where the answer was not
    captured, and where it was truncated or redacted and a pattern that does not match would
    decide.
    """

    type: ClassVar[str] = "regex"
    label: ClassVar[str] = "Regular expression"

    pattern: Pattern | None = Field(default=None, description="RE2 pattern, searched in the output")
    flags: str = Field(
        default="",
        pattern="^[dgimsuy]*$",
        description="i: ignore case, m: ^ and $ match at lines, s: . matches line breaks, "
        "y: match at the start only; g, d, u: taken, mean nothing here",
    )
    must_match: bool = Field(default=True, description="false: the pattern must not match")
    patterns: Patterns | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_PATTERNS,
        description="several patterns, weighted",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        return _one_of_both(self, self.pattern, self.patterns)

    @cached_property
    def _own(self) -> Sequence[Prepared]:
        return _prepared(self.pattern, self.patterns, self.must_match, self.flags)

    def judge_for(self, criteria: RegexCriteria) -> Judge | Skip:
        own_pattern = criteria.pattern is not None or criteria.patterns is not None
        must_match = self.must_match if criteria.must_match is None else criteria.must_match
        if own_pattern:
            patterns = _prepared(criteria.pattern, criteria.patterns, must_match, self.flags)
        elif must_match != self.must_match:
            patterns = _prepared(self.pattern, self.patterns, must_match, self.flags)
        else:
            patterns = self._own
        return (lambda answer: _judged(answer, patterns)) if patterns else NO_PATTERN


M = TypeVar("M", bound=BaseModel)


def _one_of_both(model: M, pattern: str | None, patterns: Patterns | None) -> M:
    if pattern is not None and patterns is not None:
        raise ValueError("both pattern and patterns are given; move the pattern into the list")
    return model


def _prepared(
    pattern: str | None, patterns: Patterns | None, must_match: bool, flags: str
) -> Sequence[Prepared]:
    single = pattern is not None
    specs = [WeightedPattern(pattern=pattern, must_match=must_match)] if pattern else patterns
    return [
        Prepared(spec=spec, expression=compiled(spec.pattern, flags), single=single)
        for spec in specs or []
    ]


def _judged(answer: Answer, patterns: Sequence[Prepared]) -> Score | Skip:
    text = encoded(answer.text)
    findings = [_finding(prepared, text) for prepared in patterns]
    unsure = next((f for f in findings if not f.matched), None)
    if answer.altered and unsure is not None:
        return Skip(
            f"the recorded content was {answer.altered} and "
            f"{unsure.spec.pattern!r} matches none of it"
        )
    return _single(answer, findings[0]) if patterns[0].single else _weighted(answer, findings)


def _finding(prepared: Prepared, text: bytes) -> Finding:
    spec = prepared.spec
    found = prepared.expression.search(text)
    if found is None:
        observation = f"{spec.pattern!r} does not match the output"
    else:
        observation = f"{spec.pattern!r} matches {decoded(found.group()[:EXCERPT_CHARS])!r}"
    told = f"{spec.description}: {observation}" if spec.description else observation
    return Finding(spec=spec, matched=found is not None, observation=told)


def _single(answer: Answer, finding: Finding) -> Score:
    observation, must_match = finding.observation, finding.spec.must_match
    must = "" if finding.passed else f", but it must{'' if must_match else ' not'}"
    return Score(
        float(finding.passed),
        reason=f"{observation}{must}",
        hits=[observation] if finding.passed else [],
        misses=[] if finding.passed else [observation],
        details={
            "pattern": finding.spec.pattern,
            "must_match": must_match,
            "matched": finding.matched,
        },
        evidence=answer.evidence,
    )


def _weighted(answer: Answer, findings: Sequence[Finding]) -> Score:
    failed = [finding for finding in findings if not finding.passed]
    earned = sum(finding.spec.weight for finding in findings if finding.passed)
    patterns = counted(len(findings), "pattern")
    return Score(
        earned / sum(finding.spec.weight for finding in findings),
        "pass" if not failed else "partial" if len(failed) < len(findings) else "fail",
        f"{len(failed)} of {patterns} not as they must be: {failed[0].observation}"
        if failed
        else f"{patterns}, all as they must be",
        hits=[finding.observation for finding in findings if finding.passed],
        misses=[finding.observation for finding in failed],
        details={"patterns": [_details(finding) for finding in findings]},
        evidence=answer.evidence,
    )


def _details(finding: Finding) -> Mapping[str, Any]:
    spec = finding.spec.model_dump()
    return {**spec, "matched": finding.matched, "passed": finding.passed}
