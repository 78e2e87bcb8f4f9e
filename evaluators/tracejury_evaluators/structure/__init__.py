"""Evaluators of what the agent answered, as data."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.structure.fields import JsonFields
from tracejury_evaluators.structure.schema import JsonSchema
from tracejury_evaluators.structure.similarity import JsonSimilarity
from tracejury_evaluators.structure.valid import ValidJson

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    ValidJson,
    JsonSchema,
    JsonSimilarity,
    JsonFields,
)

__all__ = ["EVALUATORS", "JsonFields", "JsonSchema", "JsonSimilarity", "ValidJson"]
