"""Evaluators written for AgentProbe, for an agent that answers letters."""

from __future__ import annotations

import re
from typing import Any

from tracejury_evaluators.adapters.agentprobe import (
    BaseEvaluator,
    EvalResult,
    EvaluatorPlugin,
    EvalVerdict,
    TestCase,
    Trace,
)


class GreetsByName(BaseEvaluator):
    """Passes if the letter greets someone; partial if it only greets."""

    def __init__(self, greeting: str = "Dear", name: str = "greets") -> None:
        super().__init__(name=name)
        self.greeting = greeting

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        named = re.search(rf"{self.greeting} \w+", trace.output_text)
        score = 1.0 if named else 0.5 if self.greeting in trace.output_text else 0.0
        verdicts = {1.0: EvalVerdict.PASS, 0.5: EvalVerdict.PARTIAL, 0.0: EvalVerdict.FAIL}
        return EvalResult(
            evaluator_name=self.name,
            verdict=verdicts[score],
            score=score,
            reason=f"greeting {self.greeting!r}",
            metadata={"greeting": self.greeting},
        )


class Affordable(BaseEvaluator):
    """Passes if the letter took no more tokens and time than given."""

    def __init__(self, tokens: int, seconds: float | None = None, *, schema: Any = ()) -> None:
        super().__init__("affordable")
        self.tokens = tokens
        self.seconds = seconds
        self.schema = schema

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        used = trace.total_input_tokens + trace.total_output_tokens
        good = used <= self.tokens
        if self.seconds is not None:
            good = good and trace.total_latency_ms <= self.seconds * 1000
        verdict = EvalVerdict.PASS if good else EvalVerdict.FAIL
        return EvalResult(evaluator_name=self.name, verdict=verdict, score=float(good))


class LooksUpFirst(BaseEvaluator):
    """Passes if the first tool looked the address up."""

    def __init__(self, tool: str = "find_address") -> None:
        super().__init__("looks-up-first")
        self.tool = tool

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        first = trace.tool_calls[0].tool_name if trace.tool_calls else ""
        verdict = EvalVerdict.PASS if first == self.tool else EvalVerdict.FAIL
        return EvalResult(
            evaluator_name=self.name, verdict=verdict, score=float(first == self.tool)
        )


class AsExpected(BaseEvaluator):
    """Passes if the letter is the one expected of the case."""

    def __init__(self) -> None:
        super().__init__("as-expected")

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        same = trace.output_text == test_case.expected_output
        told = test_case.model_dump(include={"name", "input_text", "tags", "metadata"})
        return EvalResult(
            evaluator_name=self.name,
            verdict=EvalVerdict.PASS if same else EvalVerdict.FAIL,
            score=float(same),
            metadata=told,
        )


class Both(BaseEvaluator):
    """Passes if one evaluator and the others pass."""

    def __init__(self, first: BaseEvaluator, others: list[tuple[BaseEvaluator, float]]) -> None:
        super().__init__("both")
        self.members = [(first, 1.0), *others]

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        results = [(await member.evaluate(test_case, trace), w) for member, w in self.members]
        score = sum(result.score * w for result, w in results) / sum(w for _, w in results)
        return EvalResult(
            evaluator_name=self.name,
            verdict=EvalVerdict.PASS if score == 1.0 else EvalVerdict.PARTIAL,
            score=score,
            metadata={"members": [result.evaluator_name for result, _ in results]},
        )


class LettersPlugin(EvaluatorPlugin):
    """A plugin that looks for one greeting."""

    loaded = 0

    @property
    def name(self) -> str:
        """The plugin's name."""
        return "letters"

    @property
    def version(self) -> str:
        """Its version."""
        return "2.1"

    def on_load(self) -> None:
        """Count."""
        LettersPlugin.loaded += 1

    def create_evaluator(self) -> BaseEvaluator:
        """One that looks for Hello."""
        return GreetsByName(greeting="Hello")
