"""Evaluators written for UiPath, for an agent that books invoices."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from tracejury_evaluators.adapters.uipath import (
    AgentExecution,
    BaseEvaluationCriteria,
    BaseEvaluator,
    BaseEvaluatorConfig,
    BaseEvaluatorJustification,
    BooleanEvaluationResult,
    ErrorEvaluationResult,
    EvaluationResult,
    NumericEvaluationResult,
    extract_tool_calls,
    extract_tool_calls_names,
)


class Booked(BaseEvaluationCriteria):
    """What should be booked."""

    account: str
    cost_centers: list[str] = Field(default_factory=list, alias="centers")

    @field_validator("cost_centers", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return value.split(",") if isinstance(value, str) else value


class BookedConfig(BaseEvaluatorConfig[Booked]):
    """How strictly bookings are compared."""

    name: str = "Booked"
    threshold: float = Field(default=0.5, ge=0, le=1)
    tool_name: str = "book"


class BookedEvaluator(BaseEvaluator[Booked, BookedConfig, str]):
    """Compares what was booked with what should be."""

    async def evaluate(
        self, agent_execution: AgentExecution, evaluation_criteria: Booked
    ) -> EvaluationResult:
        calls = extract_tool_calls(agent_execution.agent_trace)
        made = [call for call in calls if call.name == self.evaluator_config.tool_name]
        if not made:
            return ErrorEvaluationResult(error="nothing was booked")
        wanted = {"account": evaluation_criteria.account}
        wanted |= {center: center for center in evaluation_criteria.cost_centers}
        found = {**made[0].args, **{c: c for c in made[0].args.get("centers", [])}}
        right = sum(found.get(key) == value for key, value in wanted.items())
        return NumericEvaluationResult(score=right / len(wanted), details=f"{right} right")

    @classmethod
    def get_evaluator_id(cls) -> str:
        """The id."""
        return "BookedEvaluator"


class Nothing(BaseEvaluationCriteria):
    """No criteria."""


class Paid(BaseEvaluatorJustification):
    """Why an invoice counts as paid."""

    currency: str = "EUR"


class PaidConfig(BaseEvaluatorConfig[Nothing]):
    """What counts as paid."""

    key: str = "status"
    version: int = 3


class PaidEvaluator(BaseEvaluator[Nothing, PaidConfig, Paid]):
    """Passes if the answer says that the invoice is paid."""

    async def evaluate(
        self, agent_execution: AgentExecution, evaluation_criteria: Nothing
    ) -> EvaluationResult:
        output = agent_execution.agent_output
        assert isinstance(output, dict)
        actual = str(output.get(self.evaluator_config.key))
        told = Paid(expected="paid", actual=actual)
        return BooleanEvaluationResult(score=actual == "paid", details=told)

    @classmethod
    def get_evaluator_id(cls) -> str:
        """The id."""
        return "paid-evaluator"


class CalledOnly(BaseEvaluator[Nothing, BaseEvaluatorConfig[Nothing], type(None)]):  # type: ignore[misc]
    """Passes if a tool was called; says nothing more."""

    async def evaluate(
        self, agent_execution: AgentExecution, evaluation_criteria: Nothing
    ) -> EvaluationResult:
        called = bool(extract_tool_calls_names(agent_execution.agent_trace))
        return BooleanEvaluationResult(score=called)

    @classmethod
    def get_evaluator_id(cls) -> str:
        """The id."""
        return "called-only"
