"""Evaluators of the tools that the agent called."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.tools.args import ToolArgs
from tracejury_evaluators.tools.count import ToolCount
from tracejury_evaluators.tools.defined import DefinedTools
from tracejury_evaluators.tools.errors import NoToolErrors
from tracejury_evaluators.tools.output import ToolOutput
from tracejury_evaluators.tools.sequence import ToolSequence
from tracejury_evaluators.tools.similarity import ToolEditDistance, ToolF1, ToolJaccard, ToolLcs
from tracejury_evaluators.tools.usage import ToolUsage

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    ToolUsage,
    ToolSequence,
    ToolArgs,
    ToolCount,
    ToolOutput,
    ToolJaccard,
    ToolF1,
    ToolEditDistance,
    ToolLcs,
    DefinedTools,
    NoToolErrors,
)

__all__ = [
    "EVALUATORS",
    "DefinedTools",
    "NoToolErrors",
    "ToolArgs",
    "ToolCount",
    "ToolEditDistance",
    "ToolF1",
    "ToolJaccard",
    "ToolLcs",
    "ToolOutput",
    "ToolSequence",
    "ToolUsage",
]
