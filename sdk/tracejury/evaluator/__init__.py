"""The evaluator protocol: `Evaluator`, `Criteria`, `@evaluator`, and running one on one trace."""

from tracejury.evaluator.base import Criteria, Evaluator, Returned, does_wait
from tracejury.evaluator.criteria import checked_defaults, criteria_of
from tracejury.evaluator.function import EvaluatorFunction, evaluator
from tracejury.evaluator.hashing import criteria_hash
from tracejury.evaluator.returned import to_outcome
from tracejury.evaluator.run import run_evaluator, start_evaluator
from tracejury.evaluator.validation import describe

__all__ = [
    "Criteria",
    "Evaluator",
    "EvaluatorFunction",
    "Returned",
    "checked_defaults",
    "criteria_hash",
    "criteria_of",
    "describe",
    "does_wait",
    "evaluator",
    "run_evaluator",
    "start_evaluator",
    "to_outcome",
]
