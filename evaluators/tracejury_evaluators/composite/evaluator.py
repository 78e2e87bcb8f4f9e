"""The evaluator that runs others and makes one judgement of theirs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from pydantic import Field, field_validator, model_validator

from tracejury.evaluator import Criteria, Evaluator, does_wait, start_evaluator
from tracejury.evaluator.hashing import fingerprint_of
from tracejury.evaluator.validation import nearest
from tracejury.result import Failure, Outcome, Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.composite.combining import (
    Aggregation,
    Judged,
    Thresholds,
    combined,
    spent,
    told,
)
from tracejury_evaluators.composite.member import Member, member_of
from tracejury_evaluators.endpoint import Asked, asked_by

MAX_MEMBERS = 50
MAX_NESTING = 8

if TYPE_CHECKING:
    # what a program may give; all of it becomes members
    Members = Sequence[Member | Evaluator[Any] | tuple[Evaluator[Any], float] | dict[str, Any]]
else:
    Members = list[Member]


class CompositeCriteria(Criteria):
    """What varies per case: the criteria of the members."""

    members: dict[str, dict[str, Any]] = Field(
        default={}, description="criteria of this case, by the name of the member"
    )


class Composite(Evaluator[CompositeCriteria]):
    """Runs other evaluators and makes one judgement of theirs, which stay side by side in it.

    The value is the weighted mean of the members' values, and the verdict follows from two
    thresholds; or every member must pass (`all`), or one (`any`). Members that skip are left
    out; where all do, the whole skips. A member that fails makes the whole a failure. Members
    that wait, such as judges, run together.
    """

    type: ClassVar[str] = "composite"
    label: ClassVar[str] = "Composite"
    aliases: ClassVar[Mapping[str, str]] = {"evaluators": "members"}

    members: Members = Field(
        min_length=1, max_length=MAX_MEMBERS, description="the evaluators, each with its weight"
    )
    aggregation: Aggregation = Field(
        default="mean",
        description="`mean` (weighted), `min`, `max`: the value, and thresholds decide; "
        "`all`: the worst value and verdict; `any`: the best",
    )
    pass_threshold: float = Field(default=0.8, ge=0, le=1, description="value from which it passes")
    partial_threshold: float = Field(
        default=0.5, ge=0, le=1, description="value from which it is `partial`"
    )
    on_skip: Literal["leave_out", "skip"] = Field(
        default="leave_out", description="skip: a member that skips makes the whole skip"
    )
    on_failure: Literal["fail", "leave_out"] = Field(
        default="fail", description="leave_out: a member that fails is left out like one that skips"
    )

    @field_validator("members", mode="before")
    @classmethod
    def _as_members(cls, given: object) -> object:
        if nesting(given) > MAX_NESTING:
            raise ValueError(f"composites are nested deeper than {MAX_NESTING} levels")
        return [member_of(item) for item in given] if isinstance(given, (list, tuple)) else given

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.partial_threshold > self.pass_threshold:
            raise ValueError(
                f"partial_threshold {self.partial_threshold} is above pass_threshold "
                f"{self.pass_threshold}; exchange the two"
            )
        if not any(member.weight for member in self.parts):
            raise ValueError("every member has weight 0; give one that counts a weight above 0")
        given = Counter(member.name or member.evaluator for member in self.parts)
        twice = [name for name, number in given.items() if name and number > 1]
        if twice:
            raise ValueError(f"two members are named {twice[0]!r}; give each a `name` of its own")
        return self

    @property
    def parts(self) -> list[Member]:
        """The members, whatever they were given as."""
        return cast("list[Member]", self.members)

    @property
    def timeout_s(self) -> float | None:  # type: ignore[override]
        """The longest run: that of all members that name one, one after the other."""
        named = [member.built.timeout_s for member in self.parts]
        return sum(seconds for seconds in named if seconds is not None) or None

    @property
    def waits(self) -> bool:  # type: ignore[override]
        """Whether any member waits."""
        return any(does_wait(member.built) for member in self.parts)

    @property
    def asked(self) -> tuple[Asked, ...]:
        """What the members ask."""
        return tuple(one for member in self.parts for one in asked_by(member.built))

    def fingerprint(self) -> str:
        """16 hex digits of the config and of what the members are."""
        config = self.model_dump(by_alias=True, exclude={"members"})
        members = [
            [name, *member.identity()] for name, member in zip(self.names, self.parts, strict=True)
        ]
        return fingerprint_of(self.type, self.version, {**config, "members": members})

    @cached_property
    def names(self) -> list[str]:
        """The members' names in the result; equal ones are numbered from the second on."""
        seen: Counter[str] = Counter()
        names = []
        for member in self.parts:
            seen[member.label] += 1
            number = seen[member.label]
            names.append(member.label if number == 1 else f"{member.label} {number}")
        return names

    def evaluate(
        self, trace: Trace, criteria: CompositeCriteria
    ) -> Score | Skip | Failure | Awaitable[Score | Skip | Failure]:
        given = criteria.members
        _check_names(given, self.names)
        started = [
            start_evaluator(built, trace, given.get(name), defaults=defaults)
            for name, built, defaults, _ in self._ready
        ]
        outcomes = [one for one in started if isinstance(one, (Score, Skip, Failure))]
        return self._whole(outcomes) if len(outcomes) == len(started) else self._together(started)

    @cached_property
    def _ready(self) -> Sequence[tuple[str, Evaluator[Any], Mapping[str, Any], float]]:
        """Each member's name, evaluator, criteria and weight; to ask a model for them is slow."""
        return [
            (name, member.built, member.criteria, member.weight)
            for name, member in zip(self.names, self.parts, strict=True)
        ]

    @cached_property
    def _thresholds(self) -> Thresholds:
        return Thresholds(passing=self.pass_threshold, partial=self.partial_threshold)

    async def _together(
        self, started: Sequence[Outcome | Awaitable[Outcome]]
    ) -> Score | Skip | Failure:
        return self._whole(await asyncio.gather(*(_ended(one) for one in started)))

    def _whole(self, outcomes: Sequence[Outcome]) -> Score | Skip | Failure:
        judged = [
            Judged(name=name, type=built.type, weight=weight, outcome=outcome)
            for (name, built, _, weight), outcome in zip(self._ready, outcomes, strict=True)
        ]
        stopping = self._stopping(judged)
        if stopping is not None:
            return stopping
        return combined(judged, self.aggregation, self._thresholds)

    def _stopping(self, judged: Sequence[Judged]) -> Skip | Failure | None:
        """The outcome where one member decides that there is no score."""
        for one in judged:
            if isinstance(one.outcome, Failure) and self._is_fatal(judged):
                failure = one.outcome
                return Failure(
                    failure.error_type,
                    f"the member {one.name!r} failed: {failure.message}",
                    failure.traceback,
                    spent(judged),
                )
        for one in judged:
            if isinstance(one.outcome, Skip) and self.on_skip == "skip" and one.weight:
                reason = f"the member {one.name!r} skipped: {one.outcome.reason}"
                return Skip(reason, {"members": told(judged)}, spent(judged))
        return None

    def _is_fatal(self, judged: Sequence[Judged]) -> bool:
        every = all(isinstance(one.outcome, Failure) for one in judged)
        return every or self.on_failure == "fail"


async def _ended(started: Outcome | Awaitable[Outcome]) -> Outcome:
    return started if isinstance(started, (Score, Skip, Failure)) else await started


def _check_names(given: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in given:
        if name not in names:
            hint = nearest(name, names) or f"; they are {', '.join(names)}"
            raise ValueError(f"criteria.members: no member is named {name!r}{hint}")


def nesting(members: object) -> int:
    """How many levels of composites a list of members as written has, counted to the limit."""
    level = 0
    row = list(members) if isinstance(members, (list, tuple)) else []
    while row and level <= MAX_NESTING:
        level += 1
        row = [inner for item in row for inner in _inner(item)]
    return level


def _inner(item: object) -> list[object]:
    config = item.get("config") if isinstance(item, Mapping) else None
    members = config.get("members", config.get("evaluators")) if isinstance(config, Mapping) else ()
    return list(members) if isinstance(members, (list, tuple)) else []
