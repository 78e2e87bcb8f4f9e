"""Evaluators of what the agent answered, as text."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.output.exact import Contains, EndsWith, Equals, StartsWith
from tracejury_evaluators.output.presence import NonEmptyOutput, WordCount
from tracejury_evaluators.output.refusal import Refusal
from tracejury_evaluators.output.regex import Regex
from tracejury_evaluators.output.similarity import Dice, Jaccard, Lcs, Levenshtein, Overlap

__all__ = [
    "EVALUATORS",
    "Contains",
    "Dice",
    "EndsWith",
    "Equals",
    "Jaccard",
    "Lcs",
    "Levenshtein",
    "NonEmptyOutput",
    "Overlap",
    "Refusal",
    "Regex",
    "StartsWith",
    "WordCount",
]

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    NonEmptyOutput,
    WordCount,
    Equals,
    Contains,
    StartsWith,
    EndsWith,
    Regex,
    Levenshtein,
    Jaccard,
    Dice,
    Overlap,
    Lcs,
    Refusal,
)
