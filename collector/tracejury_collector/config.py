"""The configuration: one table of settings that makes defaults, validation, docs and help."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tracejury.dialects.custom import CustomDialect
from tracejury.dialects.files import MAX_FILES, read_dialects
from tracejury.errors import TracejuryError
from tracejury.trace import TraceKind
from tracejury_collector.errors import ConfigError
from tracejury_evaluators.endpoint import JudgeEndpoint, resolve

_UNITS_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS_BYTES = {"b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
MAX_PLUGINS = 100
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _quantity(value: Any, units: Mapping[str, float], example: str) -> Any:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", value)
    if not match or (match[2] and match[2].lower() not in units):
        raise ValueError(f"{value!r} is not a quantity; write it like {example}")
    return float(match[1]) * (units[match[2].lower()] if match[2] else 1)


def _seconds(value: Any) -> Any:
    return _quantity(value, _UNITS_S, "500ms, 3s, 2m or 1h")


def _bytes(value: Any) -> Any:
    number = _quantity(value, _UNITS_BYTES, "64MiB")
    return int(number) if isinstance(number, float) else number


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]
Address = Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$")]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Listen(_Section):
    """Where the service listens; port 0 takes a free one."""

    grpc: Address = Field(default="127.0.0.1:4317", description="OTLP/gRPC address")
    otlp_http: Address = Field(default="127.0.0.1:4318", description="OTLP/HTTP address")
    api: Address = Field(
        default="127.0.0.1:4319", description="address of the API and the web page"
    )


class Limits(_Section):
    """What one request, and all requests together, may ask of the service."""

    request_bytes: Bytes = Field(
        default=64 << 20, description="largest request body as sent, in bytes"
    )
    decompressed_bytes: Bytes = Field(
        default=64 << 20, description="largest request body after decompression, in bytes"
    )
    spans_per_request: int = Field(
        default=50_000, gt=0, description="most spans or log records in one request"
    )
    attributes_per_span: int = Field(
        default=1_000, gt=0, description="attributes kept per span; the rest are counted as dropped"
    )
    events_per_span: int = Field(
        default=1_000,
        gt=0,
        description="events, and links, kept per span; the rest are counted as dropped",
    )
    nesting_depth: int = Field(
        default=32,
        gt=0,
        le=64,
        description="deepest nesting of an attribute value; deeper is rejected",
    )
    in_flight_bytes: Bytes = Field(
        default=128 << 20, description="request bytes held at one time before new ones wait"
    )
    wait: Seconds = Field(
        default=2.0,
        description="how long a request waits for room before it is refused, in seconds",
    )
    commit: Seconds = Field(
        default=8.0,
        description="how long a request waits for its commit before it is refused, in seconds",
    )


class CompletionSettings(_Section):
    """When a trace counts as finished."""

    after_root: Seconds = Field(
        default=3.0, description="quiet time after the root ended, in seconds"
    )
    idle: Seconds = Field(default=120.0, description="quiet time without an ended root, in seconds")
    max_age: Seconds = Field(default=3600.0, description="time since the first span, in seconds")
    tick: Seconds = Field(
        default=0.25, description="how often finished traces are looked for, in seconds"
    )


class StorageSettings(_Section):
    """How the database is kept."""

    memory: Bytes = Field(default=256 << 20, description="DuckDB's memory limit, in bytes")
    threads: int = Field(default=1, gt=0, description="DuckDB's threads")
    checkpoint_wal: Bytes = Field(
        default=64 << 20,
        description="size of the write-ahead log that starts a checkpoint, in bytes",
    )
    address_space: Bytes = Field(
        default=8 << 30, description="address-space limit of the store process, in bytes"
    )


class JurySettings(_Section):
    """The processes that run evaluators."""

    workers: int = Field(default=1, gt=0, le=64, description="number of jury processes")
    timeout: Seconds = Field(default=30.0, description="longest run of one evaluator, in seconds")
    memory: Bytes = Field(
        default=2 << 30, description="address-space limit of a jury process, in bytes"
    )


class JudgeSettings(_Section):
    """The model that evaluators ask which need one; the key goes to the host of its URL alone."""

    model: str | None = Field(
        default=None,
        description="the model, such as `openai:gpt-5-mini` ([judge.md](evaluators/judge.md)); "
        "left out, the environment's `TRACEJURY_JUDGE_MODEL`",
    )
    base_url: str | None = Field(
        default=None, description="URL of its API; left out, that of the model's provider"
    )
    api_key: str | None = Field(
        default=None,
        repr=False,
        description="its key, best as `${VAR}`; left out, the one in the provider's usual variable",
    )

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        if self.model:
            resolve(None, configured=self.endpoint(), environ={})
        return self

    def endpoint(self) -> JudgeEndpoint:
        """Return the endpoint that these settings mean."""
        return JudgeEndpoint(
            model=self.model or "", base_url=self.base_url or "", api_key=self.api_key or ""
        )


class EvaluatorSpec(_Section):
    """A named evaluator: its type, its config, and what holds where a case says nothing."""

    type: str = Field(description="the evaluator's type, such as `json-schema`")
    config: dict[str, Any] = Field(default={}, description="the settings of that type")
    criteria: dict[str, Any] = Field(
        default={},
        description="default criteria; those of a case override them field by field",
    )
    timeout: Seconds | None = Field(
        default=None,
        description="longest run in seconds; left out, that of its type, else `jury.timeout`",
    )


class SampleSpec(_Section):
    """Which share of the traces a rule judges."""

    rate: float = Field(default=1.0, ge=0, le=1, description="share of the traces, chosen by hash")


class RuleSpec(_Section):
    """Which evaluators judge which finished traces."""

    where: str = Field(
        default="true", description="a DuckDB expression over the columns of `traces`"
    )
    kinds: list[TraceKind] | None = Field(
        default=None,
        min_length=1,
        description="kinds of traces that are judged; left out, every kind",
    )
    sample: SampleSpec = SampleSpec()
    evaluators: list[str] = Field(
        min_length=1, description="names of the evaluators that judge what is selected"
    )
    target: Literal["trace"] = Field(default="trace", description="what is judged")


DEFAULT_EVALUATORS = {
    "non-empty-output": EvaluatorSpec(type="non-empty-output"),
    "no-tool-errors": EvaluatorSpec(type="no-tool-errors"),
    "no-loops": EvaluatorSpec(type="no-loops"),
    "defined-tools": EvaluatorSpec(type="defined-tools"),
}
RUNS: tuple[TraceKind, ...] = ("agent", "llm", "tool")
"""Kinds of traces in which an agent, a model or a tool did its work."""
DEFAULT_RULES = {"default": RuleSpec(kinds=list(RUNS), evaluators=list(DEFAULT_EVALUATORS))}


class Config(_Section):
    """Everything a user can set."""

    storage: str = Field(default="tracejury.duckdb", description="path of the database file")
    listen: Listen = Listen()
    receivers: int = Field(default=1, gt=0, le=16, description="number of receiver processes")
    limits: Limits = Limits()
    completion: CompletionSettings = CompletionSettings()
    database: StorageSettings = StorageSettings()
    jury: JurySettings = JurySettings()
    judge: JudgeSettings = JudgeSettings()
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
    evaluators: dict[str, EvaluatorSpec] = Field(
        default={}, description="named evaluators: type, config, criteria and timeout"
    )
    rules: dict[str, RuleSpec] | None = Field(
        default=None,
        description="named rules; left out, a small free jury judges every run; {} means no jury",
    )

    def effective_rules(self) -> dict[str, RuleSpec]:
        """Return the rules in force: the configured ones, or the default jury."""
        return DEFAULT_RULES if self.rules is None else self.rules

    def effective_evaluators(self) -> dict[str, EvaluatorSpec]:
        """Return the named evaluators; the default jury's names are always known."""
        return {**DEFAULT_EVALUATORS, **self.evaluators}


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
    return config.model_copy(
        update={"judge": JudgeSettings(), "plugins": [], "evaluators": {}, "rules": {}}
    )


def parse_config(data: Mapping[str, Any]) -> Config:
    """Return the validated configuration.

    Raises: ConfigError naming every wrong key and, for unknown ones, the nearest known key.
    """
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(item) for item in error.errors())) from error
    known = config.effective_evaluators()
    for name, rule in config.effective_rules().items():
        for evaluator in rule.evaluators:
            if evaluator not in known:
                hint = _nearest(evaluator, list(known))
                raise ConfigError(
                    f"rules.{name}.evaluators: no evaluator is named {evaluator!r}{hint}; "
                    "define it under evaluators:"
                )
    return config


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
        return (
            f"{path}: unknown setting{_nearest(str(item['loc'][-1]), _keys_at(item['loc'][:-1]))}"
        )
    if path.split(".")[0] == "judge":  # the value may be a key
        return f"{path}: {item['msg'].removeprefix('Value error, ')}"
    return f"{path}: {item['msg']} (got {item['input']!r})"


def _keys_at(location: tuple[Any, ...]) -> list[str]:
    """Return the setting names of the section at `location`."""
    named: dict[str, type[BaseModel]] = {"evaluators": EvaluatorSpec, "rules": RuleSpec}
    model: type[BaseModel] = Config
    for part in location:
        if part in named:
            model = named[part]
        elif part in model.model_fields:
            annotation = model.model_fields[part].annotation
            if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                model = annotation
    return list(model.model_fields)


def _nearest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else f"; known: {', '.join(sorted(known))}"
