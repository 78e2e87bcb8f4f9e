"""The configuration: what users set, validated once at start."""

from __future__ import annotations

from tracejury_collector.config.judging import (
    DEFAULT_EVALUATORS,
    DEFAULT_RULES,
    RUNS,
    Budget,
    EvaluatorSpec,
    RuleSpec,
    SampleSpec,
)
from tracejury_collector.config.reading import (
    load_config,
    load_dialects,
    parse_config,
    without_jury,
)
from tracejury_collector.config.sections import (
    CompletionSettings,
    JudgeSettings,
    JurySettings,
    Limits,
    Listen,
    StorageSettings,
)
from tracejury_collector.config.settings import (
    Config,
)

__all__ = [
    "DEFAULT_EVALUATORS",
    "DEFAULT_RULES",
    "RUNS",
    "Budget",
    "CompletionSettings",
    "Config",
    "EvaluatorSpec",
    "JudgeSettings",
    "JurySettings",
    "Limits",
    "Listen",
    "RuleSpec",
    "SampleSpec",
    "StorageSettings",
    "load_config",
    "load_dialects",
    "parse_config",
    "without_jury",
]
