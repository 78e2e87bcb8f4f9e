"""Named evaluators and rules as users write them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tracejury.trace import TraceKind
from tracejury_collector.config.fields import Seconds, Section


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


class SampleSpec(Section):
    """Which share of the traces a rule judges."""

    rate: float = Field(default=1.0, ge=0, le=1, description="share of the traces, chosen by hash")


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
    sample: SampleSpec = SampleSpec()
    budget: Budget = Budget()
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
