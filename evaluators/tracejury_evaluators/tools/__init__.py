"""Evaluators of the tools that the agent called."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.tools.args import ToolArgs
from tracejury_evaluators.tools.count import ToolCount
from tracejury_evaluators.tools.defined import DefinedTools
from tracejury_evaluators.tools.errors import NoToolErrors
from tracejury_evaluators.tools.latency import ToolLatency
from tracejury_evaluators.tools.order import ToolOrderConstraints
from tracejury_evaluators.tools.output import ToolOutput
from tracejury_evaluators.tools.presence import ForbiddenTools, RequiredTools
from tracejury_evaluators.tools.sequence import ToolSequence
from tracejury_evaluators.tools.similarity import ToolEditDistance, ToolF1, ToolJaccard, ToolLcs
from tracejury_evaluators.tools.usage import ToolUsage
from tracejury_evaluators.tools.valid import ValidToolArgs

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    ToolUsage,
    ToolSequence,
    ToolArgs,
    ToolCount,
    ToolOutput,
    RequiredTools,
    ForbiddenTools,
    ToolOrderConstraints,
    ToolJaccard,
    ToolF1,
    ToolEditDistance,
    ToolLcs,
    DefinedTools,
    ValidToolArgs,
    NoToolErrors,
    ToolLatency,
)

__all__ = [
    "EVALUATORS",
    "DefinedTools",
    "ForbiddenTools",
    "NoToolErrors",
    "RequiredTools",
    "ToolArgs",
    "ToolCount",
    "ToolEditDistance",
    "ToolF1",
    "ToolJaccard",
    "ToolLatency",
    "ToolLcs",
    "ToolOrderConstraints",
    "ToolOutput",
    "ToolSequence",
    "ToolUsage",
    "ValidToolArgs",
]
