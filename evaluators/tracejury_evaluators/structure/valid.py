"""Whether an answer is JSON at all."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from tracejury.evaluator import Criteria
from tracejury.result import Score, Skip
from tracejury_evaluators.json_text import kind_of, parse
from tracejury_evaluators.structure.base import JsonEvaluator, JudgeData


class ValidJson(JsonEvaluator[Criteria]):
    """Passes if the answer is JSON as RFC 8259 has it.

    NaN and Infinity are no JSON, nor are comments, trailing commas and single quotes. Any value
    will do unless `top` says otherwise. Equal keys in one object pass unless `unique_keys` is
    set, though readers disagree about them. What is nested deeper than 64 levels fails. Skipped
    where the answer was not captured, and where it was truncated or redacted and is no JSON.
    """

    type: ClassVar[str] = "valid-json"
    label: ClassVar[str] = "Valid JSON"

    top: Literal["any", "object", "array", "container"] = Field(
        default="any", description="what it must be: `object`, `array`, one of both: `container`"
    )
    unique_keys: bool = Field(
        default=False, description="true: an object with two equal keys fails"
    )

    def judge_for(self, _criteria: Criteria) -> JudgeData | Skip:
        return self._valid

    def read(self, text: str) -> Any:
        return parse(text, unique_keys=self.unique_keys)

    def _valid(self, data: Any) -> Score:
        kind = kind_of(data)
        allowed = {"any": (kind,), "container": ("object", "array")}.get(self.top, (self.top,))
        if kind in allowed:
            return Score(1.0, "pass", f"the output is JSON: {kind}", details={"kind": kind})
        reason = f"the output is JSON, but {kind} and not {' or '.join(allowed)}"
        return Score(0.0, "fail", reason, misses=[reason], details={"kind": kind})
