"""The configuration: what users set, validated once at start."""

from __future__ import annotations

from tracejury_collector.config.guarding import KeySettings
from tracejury_collector.config.judging import (
    ALWAYS,
    DEFAULT_EVALUATORS,
    DEFAULT_RULES,
    RUNS,
    Budget,
    EvaluatorSpec,
    RuleSpec,
    SampleSpec,
    StratumSpec,
)
from tracejury_collector.config.outward import (
    AlertSpec,
    ExportSettings,
    OtlpExportSettings,
    PassRateSettings,
    WebhookSettings,
)
from tracejury_collector.config.reading import (
    check_rules,
    load_config,
    load_dialects,
    parse_config,
    without_jury,
    without_outward,
)
from tracejury_collector.config.redaction import ATTRIBUTE, KnownPattern, RedactionSettings
from tracejury_collector.config.retention import ProjectRetention, RetentionSettings
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
    "ALWAYS",
    "ATTRIBUTE",
    "DEFAULT_EVALUATORS",
    "DEFAULT_RULES",
    "RUNS",
    "AlertSpec",
    "Budget",
    "CompletionSettings",
    "Config",
    "EvaluatorSpec",
    "ExportSettings",
    "JudgeSettings",
    "JurySettings",
    "KeySettings",
    "KnownPattern",
    "Limits",
    "Listen",
    "OtlpExportSettings",
    "PassRateSettings",
    "ProjectRetention",
    "RedactionSettings",
    "RetentionSettings",
    "RuleSpec",
    "SampleSpec",
    "StorageSettings",
    "StratumSpec",
    "WebhookSettings",
    "check_rules",
    "load_config",
    "load_dialects",
    "parse_config",
    "without_jury",
    "without_outward",
]
