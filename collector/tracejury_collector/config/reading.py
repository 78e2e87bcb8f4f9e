"""Reading the configuration: variables replaced, every wrong key named with its remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tracejury.dialects.custom import CustomDialect
from tracejury.dialects.files import read_dialects
from tracejury.errors import TracejuryError
from tracejury_collector.config.nearest import nearest, unknown_setting
from tracejury_collector.config.outward import ExportSettings
from tracejury_collector.config.sections import JudgeSettings
from tracejury_collector.config.settings import Config
from tracejury_collector.errors import ConfigError

_WITH_SECRETS = ("judge", "export", "alerts")
"""Sections whose values are not shown where they are wrong: they may be keys."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def load_config(path: Path | None, environ: Mapping[str, str] | None = None) -> Config:
    """Return the configuration in the YAML file `path`, or the defaults without one.

    Raises: ConfigError naming the key and the remedy.
    """
    if path is None:
        return Config()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the configuration {str(path)!r}: {error}") from error
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from error
    if data is None:
        return Config()
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected a mapping of settings, found {type(data).__name__}")
    return parse_config(_substitute(data, os.environ if environ is None else environ, str(path)))


def load_dialects(config: Config) -> list[CustomDialect]:
    """Return the dialects that the configuration's files bring.

    Raises: ConfigError naming file, place and remedy.
    """
    try:
        return read_dialects(config.dialects)
    except TracejuryError as error:
        raise ConfigError(f"dialects: {error}") from error


def without_jury(config: Config) -> Config:
    """Return the configuration for a process that judges nothing: no keys, evaluators or rules."""
    update = {"judge": JudgeSettings(), "plugins": [], "evaluators": {}, "rules": {}}
    return without_outward(config).model_copy(update=update)


def without_outward(config: Config) -> Config:
    """Return the configuration for a process that tells nobody: no URLs or headers of others."""
    return config.model_copy(update={"export": ExportSettings(), "alerts": {}})


def parse_config(data: Mapping[str, Any]) -> Config:
    """Return the validated configuration.

    Raises: ConfigError naming every wrong key and, for unknown ones, the nearest known key.
    """
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(item) for item in error.errors())) from error
    check_rules(config)
    return config


def check_rules(config: Config) -> None:
    """Check that the rules name evaluators that there are.

    Raises: ConfigError naming the rule, the unknown evaluator and the nearest known one.
    """
    known = config.effective_evaluators()
    for name, rule in config.effective_rules().items():
        for evaluator in rule.evaluators:
            if evaluator not in known:
                hint = nearest(evaluator, list(known))
                raise ConfigError(
                    f"rules.{name}.evaluators: no evaluator is named {evaluator!r}{hint}; "
                    "define it first, under evaluators: or over the API"
                )


def _substitute(value: Any, environ: Mapping[str, str], where: str) -> Any:
    if isinstance(value, dict):
        return {k: _substitute(v, environ, f"{where}: {k}") for k, v in value.items()}
    if isinstance(value, list):
        return [_substitute(v, environ, where) for v in value]
    if not isinstance(value, str):
        return value

    def replace(match: re.Match[str]) -> str:
        found = environ.get(match[1], match[2])
        if found is None:
            raise ConfigError(
                f"{where}: the environment variable {match[1]!r} is not set; "
                f"set it, or write ${{{match[1]}:-default}}"
            )
        return found

    return _VARIABLE.sub(replace, value)


def _explain(item: Any) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{path}: {unknown_setting(Config, item['loc'])}"
    if path.split(".")[0] in _WITH_SECRETS:
        return f"{path}: {item['msg'].removeprefix('Value error, ')}"
    return f"{path}: {item['msg']} (got {item['input']!r})"
