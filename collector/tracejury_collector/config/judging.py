"""Named evaluators and rules as users write them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from tracejury.trace import TraceKind
from tracejury_collector.config.fields import Seconds, Section

ALWAYS = "always"
"""The stratum of traces that are judged at any rate."""
MAX_STRATA = 20
Condition = Annotated[str, Field(min_length=1)]


class EvaluatorSpec(Section):
    """A named evaluator: its type, its config, and what holds where a case says nothing."""

    type: str = Field(description="the evaluator's type, such as `json-schema`")
    config: dict[str, Any] = Field(default={}, description="the settings of that type")
    criteria: dict[str, Any] = Field(
        default={},
        description="default criteria; those of a case override them field by field",
    )
    timeout: Seconds | None = Field(
        default=None,
        description="longest run in seconds; left out, that of its type, else `jury.timeout`",
    )


class StratumSpec(Section):
    """A part of the traces that has a rate of its own."""

    where: Condition = Field(description="a condition like the rule's")
    rate: float = Field(default=1.0, ge=0, le=1, description="share of its traces")


class SampleSpec(Section):
    """Which share of the traces a rule judges ([rules.md](rules.md#sampling))."""

    rate: float = Field(default=1.0, ge=0, le=1, description="share of the traces, chosen by hash")
    always: list[Condition] = Field(
        default=[],
        max_length=MAX_STRATA,
        description="conditions; a trace for which one of them holds is judged at any rate",
    )
    strata: dict[Annotated[str, Field(min_length=1, max_length=100)], StratumSpec] = Field(
        default={},
        max_length=MAX_STRATA,
        description="parts of the traces, each with its `where` and its `rate`; "
        "the first that holds counts",
    )
    per_minute: int | None = Field(
        default=None,
        gt=0,
        le=1_000_000,
        description="traces to judge in a minute: the rates of a minute are lowered by what the "
        "minute before would have taken; more than twice as many are `overloaded`",
    )
    by: Literal["trace", "session"] = Field(
        default="trace",
        description="`session` judges all traces of a conversation, or none of them",
    )

    @field_validator("strata")
    @classmethod
    def _not_always(cls, strata: dict[str, StratumSpec]) -> dict[str, StratumSpec]:
        if ALWAYS in strata:
            raise ValueError(f"{ALWAYS!r} is the name of the setting beside it; choose another")
        return strata


class Budget(Section):
    """What judging may cost in a day (UTC); what is left out has no limit."""

    usd_per_day: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="US dollars a day for judges"
    )
    tokens_per_day: int | None = Field(
        default=None, gt=0, description="tokens a day for judges, input and output together"
    )

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return self.usd_per_day is not None or self.tokens_per_day is not None


class RuleSpec(Section):
    """Which evaluators judge which finished traces."""

    where: str = Field(
        default="true",
        description="a DuckDB expression over the columns of `traces`, or of `sessions` for those",
    )
    kinds: list[TraceKind] | None = Field(
        default=None,
        min_length=1,
        description="kinds of traces that are judged; left out, every kind",
    )
    sample: SampleSpec = Field(default=SampleSpec(), description="which of them are judged")
    budget: Budget = Field(default=Budget(), description="what its judges may cost a day")
    evaluators: list[str] = Field(
        min_length=1, description="names of the evaluators that judge what is selected"
    )
    target: Literal["trace", "session"] = Field(
        default="trace",
        description="what is judged: each finished trace, or each session that fell idle",
    )


DEFAULT_EVALUATORS = {
    "non-empty-output": EvaluatorSpec(type="non-empty-output"),
    "no-tool-errors": EvaluatorSpec(type="no-tool-errors"),
    "no-loops": EvaluatorSpec(type="no-loops"),
    "defined-tools": EvaluatorSpec(type="defined-tools"),
}
RUNS: tuple[TraceKind, ...] = ("agent", "llm", "tool")
"""Kinds of traces in which an agent, a model or a tool did its work."""
DEFAULT_RULES = {"default": RuleSpec(kinds=list(RUNS), evaluators=list(DEFAULT_EVALUATORS))}
