"""Evaluators of the path that the agent took."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.trajectory.loops import NoLoops
from tracejury_evaluators.trajectory.recovery import ErrorRecovery

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (NoLoops, ErrorRecovery)

__all__ = ["EVALUATORS", "ErrorRecovery", "NoLoops"]
