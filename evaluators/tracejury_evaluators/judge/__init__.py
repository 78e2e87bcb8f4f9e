"""Evaluators that ask a model: criteria and rubrics in words, answers, and courses of runs."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.judge.by_criteria import LLMJudge
from tracejury_evaluators.judge.of_answers import (
    LLMCorrectness,
    LLMFaithfulness,
    LLMRelevance,
    LLMTaskCompletion,
)
from tracejury_evaluators.judge.of_courses import LLMToolChoice, LLMTrajectory
from tracejury_evaluators.judge.rubric import LLMRubric

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    LLMJudge,
    LLMRubric,
    LLMCorrectness,
    LLMFaithfulness,
    LLMRelevance,
    LLMToolChoice,
    LLMTrajectory,
    LLMTaskCompletion,
)
