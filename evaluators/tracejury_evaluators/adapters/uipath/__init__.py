"""Evaluators written for UiPath run with only their imports changed.

Change `uipath.eval.evaluators`, `uipath.eval.evaluators.base_evaluator`, `uipath.eval.models` and
`uipath.eval._helpers.evaluators_helpers` to this module.
"""

from tracejury_evaluators.adapters.uipath.evaluator import BaseEvaluator
from tracejury_evaluators.adapters.uipath.folder import (
    is_custom,
    read_evaluators,
    registration_documents,
    write_registration,
)
from tracejury_evaluators.adapters.uipath.helpers import (
    extract_tool_calls,
    extract_tool_calls_names,
    extract_tool_calls_outputs,
    trace_to_str,
)
from tracejury_evaluators.adapters.uipath.models import (
    AgentExecution,
    BaseEvaluationCriteria,
    BaseEvaluatorConfig,
    BaseEvaluatorJustification,
    BooleanEvaluationResult,
    ErrorEvaluationResult,
    EvaluationResult,
    NumericEvaluationResult,
    ScoreType,
    ToolCall,
    ToolOutput,
)

WorkloadExecution = AgentExecution

__all__ = [
    "AgentExecution",
    "BaseEvaluationCriteria",
    "BaseEvaluator",
    "BaseEvaluatorConfig",
    "BaseEvaluatorJustification",
    "BooleanEvaluationResult",
    "ErrorEvaluationResult",
    "EvaluationResult",
    "NumericEvaluationResult",
    "ScoreType",
    "ToolCall",
    "ToolOutput",
    "WorkloadExecution",
    "extract_tool_calls",
    "extract_tool_calls_names",
    "extract_tool_calls_outputs",
    "is_custom",
    "read_evaluators",
    "registration_documents",
    "trace_to_str",
    "write_registration",
]
