"""Evaluators of what was retrieved, and of what the answer made of it."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.retrieval.grounded import GroundedOverlap
from tracejury_evaluators.retrieval.ranked import (
    RetrievalHit,
    RetrievalPrecision,
    RetrievalRecall,
)
from tracejury_evaluators.retrieval.something import NonEmptyRetrieval

__all__ = [
    "EVALUATORS",
    "GroundedOverlap",
    "NonEmptyRetrieval",
    "RetrievalHit",
    "RetrievalPrecision",
    "RetrievalRecall",
]

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    RetrievalPrecision,
    RetrievalRecall,
    RetrievalHit,
    GroundedOverlap,
    NonEmptyRetrieval,
)
