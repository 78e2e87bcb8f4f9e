"""The evaluator that is made of others."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.composite.evaluator import Composite

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (Composite,)

__all__ = ["EVALUATORS", "Composite"]
