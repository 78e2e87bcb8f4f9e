"""The one table of settings that makes defaults, validation, docs and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from tracejury.dialects.files import MAX_FILES
from tracejury_collector.config.fields import Section
from tracejury_collector.config.guarding import KeySettings
from tracejury_collector.config.judging import (
    DEFAULT_EVALUATORS,
    DEFAULT_RULES,
    Budget,
    EvaluatorSpec,
    RuleSpec,
)
from tracejury_collector.config.outward import MAX_ALERTS, AlertName, AlertSpec, ExportSettings
from tracejury_collector.config.querying import QuerySettings
from tracejury_collector.config.redaction import RedactionSettings
from tracejury_collector.config.retention import RetentionSettings
from tracejury_collector.config.sections import (
    CompletionSettings,
    DefinitionSettings,
    JudgeSettings,
    JurySettings,
    Limits,
    Listen,
    StorageSettings,
)

MAX_PLUGINS = 100


class Config(Section):
    """Everything a user can set."""

    storage: str = Field(default="tracejury.duckdb", description="path of the database file")
    listen: Listen = Listen()
    keys: KeySettings = KeySettings()
    receivers: int = Field(default=1, gt=0, le=16, description="number of receiver processes")
    limits: Limits = Limits()
    redact: RedactionSettings = RedactionSettings()
    completion: CompletionSettings = CompletionSettings()
    database: StorageSettings = StorageSettings()
    sql: QuerySettings = QuerySettings()
    retention: RetentionSettings = RetentionSettings()
    jury: JurySettings = JurySettings()
    judge: JudgeSettings = JudgeSettings()
    budget: Budget = Budget()
    dialects: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[],
        max_length=MAX_FILES,
        description="files of dialects of your own ([custom-dialects.md](custom-dialects.md))",
    )
    plugins: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[],
        max_length=MAX_PLUGINS,
        description="modules, or files beside this one, that bring evaluators "
        "([evaluators.md](evaluators.md#plugins))",
    )
    definitions: DefinitionSettings = DefinitionSettings()
    evaluators: dict[str, EvaluatorSpec] = Field(
        default={}, description="named evaluators: type, config, criteria and timeout"
    )
    rules: dict[str, RuleSpec] | None = Field(
        default=None,
        description="named rules; left out, a small free jury judges every run; {} means no jury",
    )
    export: ExportSettings = ExportSettings()
    alerts: dict[AlertName, AlertSpec] = Field(
        default={},
        max_length=MAX_ALERTS,
        description="named alerts: a condition, how often it is looked at, and who is told",
    )

    def key_file(self) -> Path:
        """Return where keys are kept: never in the database, which SQL can see."""
        return Path(self.keys.file or f"{self.storage}.keys")

    def journal_folder(self) -> Path:
        """Return where receivers keep what they acknowledged until the database holds it."""
        return Path(f"{self.storage}.journal")

    def effective_rules(self) -> dict[str, RuleSpec]:
        """Return the rules in force: the configured ones, or the default jury."""
        return DEFAULT_RULES if self.rules is None else self.rules

    def effective_evaluators(self) -> dict[str, EvaluatorSpec]:
        """Return the named evaluators; the default jury's names are always known."""
        return {**DEFAULT_EVALUATORS, **self.evaluators}
