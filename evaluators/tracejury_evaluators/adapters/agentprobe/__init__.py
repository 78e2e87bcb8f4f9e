"""Evaluators and plugins written for AgentProbe run with only their imports changed.

Change `agentprobe.eval.base`, `agentprobe.core.models` and `agentprobe.plugins.…` to this module.
"""

from tracejury_evaluators.adapters.agentprobe.evaluator import BaseEvaluator
from tracejury_evaluators.adapters.agentprobe.manager import PluginManager
from tracejury_evaluators.adapters.agentprobe.models import (
    EvalResult,
    EvalVerdict,
    LLMCall,
    PluginType,
    TestCase,
    ToolCall,
    Trace,
    Turn,
    TurnType,
)
from tracejury_evaluators.adapters.agentprobe.native import as_evaluator
from tracejury_evaluators.adapters.agentprobe.plugins import (
    AdapterPlugin,
    EvaluatorPlugin,
    PluginBase,
    ReporterPlugin,
    StoragePlugin,
)

__all__ = [
    "AdapterPlugin",
    "BaseEvaluator",
    "EvalResult",
    "EvalVerdict",
    "EvaluatorPlugin",
    "LLMCall",
    "PluginBase",
    "PluginManager",
    "PluginType",
    "ReporterPlugin",
    "StoragePlugin",
    "TestCase",
    "ToolCall",
    "Trace",
    "Turn",
    "TurnType",
    "as_evaluator",
]
