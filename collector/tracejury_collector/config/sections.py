"""The sections of the configuration that say how the service works."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from tracejury_collector.config.fields import Address, Bytes, Seconds, Section, VariableName
from tracejury_evaluators.endpoint import JudgeEndpoint, resolve


class Listen(Section):
    """Where the service listens; port 0 takes a free one."""

    grpc: Address = Field(default="127.0.0.1:4317", description="OTLP/gRPC address")
    otlp_http: Address = Field(default="127.0.0.1:4318", description="OTLP/HTTP address")
    api: Address = Field(
        default="127.0.0.1:4319", description="address of the API and the web page"
    )
    hosts: list[Annotated[str, Field(min_length=1, max_length=253)]] = Field(
        default=[],
        max_length=100,
        description="further names by which the service may be called without a key, such as "
        "`traces.example.com`: what the `Host` of a request may say",
    )

    def addresses(self) -> dict[str, str]:
        """Return the addresses by the names of their settings."""
        return {"grpc": self.grpc, "otlp_http": self.otlp_http, "api": self.api}


class Limits(Section):
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
        default=64 << 20,
        description="bytes of requests, and of rows that wait for the store, held at one time "
        "before new requests wait",
    )
    wait: Seconds = Field(
        default=2.0,
        description="how long a request waits for room before it is refused, in seconds",
    )
    commit: Seconds = Field(
        default=8.0,
        description="how long a request waits for the disk before it is refused, in seconds",
    )


class CompletionSettings(Section):
    """When a trace counts as finished."""

    after_root: Seconds = Field(
        default=3.0, description="quiet time after the root ended, in seconds"
    )
    idle: Seconds = Field(default=120.0, description="quiet time without an ended root, in seconds")
    max_age: Seconds = Field(default=3600.0, description="time since the first span, in seconds")
    session_idle: Seconds = Field(
        default=900.0,
        description="quiet time of all traces of a session before rules judge it, in seconds",
    )
    max_revisions: int = Field(
        default=10,
        gt=0,
        description="revisions of one trace or session that live rules judge; later ones are made "
        "and shown, and the decision on them is `revision_limit`",
    )
    tick: Seconds = Field(
        default=0.25, description="how often finished traces are looked for, in seconds"
    )


class StorageSettings(Section):
    """How the database is kept."""

    memory: Bytes = Field(default=128 << 20, description="DuckDB's memory limit, in bytes")
    threads: int = Field(default=1, gt=0, description="DuckDB's threads")
    checkpoint_wal: Bytes = Field(
        default=64 << 20,
        description="size of the write-ahead log that starts a checkpoint, in bytes",
    )
    address_space: Bytes = Field(
        default=8 << 30, description="address-space limit of the store process, in bytes"
    )


class JurySettings(Section):
    """The processes that run evaluators."""

    workers: int = Field(
        default=1, gt=0, le=64, description="number of processes for evaluators that compute"
    )
    judges: int = Field(
        default=1,
        gt=0,
        le=16,
        description="number of processes for evaluators that wait for others: models, webhooks, "
        "scripts",
    )
    timeout: Seconds = Field(default=30.0, description="longest run of one evaluator, in seconds")
    memory: Bytes = Field(
        default=2 << 30, description="address-space limit of a jury process, in bytes"
    )
    env: list[VariableName] = Field(
        default=[],
        description="environment variables that evaluators of `plugins` and `file://` may read; "
        "what judges and `process` evaluators name, they get without it",
    )
    backlog: int = Field(
        default=100_000,
        gt=0,
        description="decisions that may wait for the jury; what live rules would select beyond "
        "them is `overloaded`",
    )


class ModelLimits(Section):
    """How often one model may be asked."""

    requests_per_minute: int | None = Field(default=None, gt=0, description="requests a minute")
    tokens_per_minute: int | None = Field(
        default=None, gt=0, description="input and output tokens a minute"
    )


class DefinitionSettings(Section):
    """What may be defined over the API while the service runs."""

    commands: bool = Field(
        default=False,
        description="whether evaluators that run commands or read files of this machine may be: "
        "`process`, `file://…`, judges with a template in a file",
    )


class JudgeSettings(Section):
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
    concurrency: int = Field(
        default=16,
        gt=0,
        le=256,
        description="most evaluators that wait for others at the same time, in all processes",
    )
    requests_per_minute: int | None = Field(
        default=None, gt=0, description="most requests a minute to each model; left out, no limit"
    )
    tokens_per_minute: int | None = Field(
        default=None, gt=0, description="most tokens a minute of each model; left out, no limit"
    )
    limits: dict[str, ModelLimits] = Field(
        default={},
        description="other limits for some models: "
        "`openai:gpt-5: {requests_per_minute: 60, tokens_per_minute: 100000}`",
    )
    tries: int = Field(
        default=3,
        gt=0,
        le=10,
        description="how often a judgement is tried whose endpoint fails, while others succeed",
    )
    retry_usd: float = Field(
        default=0.5,
        ge=0,
        description="what the tries of one judgement may cost before it is not tried again, in USD",
    )
    open_after: int = Field(
        default=5,
        gt=0,
        le=1000,
        description="failures in a row after which an endpoint is left alone, and judgements wait",
    )
    pause: Seconds = Field(
        default=10.0,
        description="how long an endpoint is left alone at first; doubles with each failed trial",
    )
    longest_pause: Seconds = Field(
        default=300.0, description="longest time between two trials of an endpoint, in seconds"
    )
    trace: bool = Field(
        default=True,
        description="record what judges are asked as traces of the project `tracejury-judges`, "
        "which no rule judges",
    )
    trace_content: bool = Field(
        default=False, description="keep the prompts and answers in these traces, too"
    )
    patience: Seconds = Field(
        default=3600.0,
        description="how long judgements wait for an endpoint that keeps failing, in seconds; "
        "then they are failures",
    )

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        if self.model:
            resolve(None, configured=self.endpoint(), environ={})
        return self

    def limits_of(self, model: str) -> ModelLimits:
        """Return the limits of a model; what evaluators ask that is no model has none."""
        usual = ModelLimits(
            requests_per_minute=self.requests_per_minute, tokens_per_minute=self.tokens_per_minute
        )
        return self.limits.get(model, usual) if model else ModelLimits()

    def endpoint(self) -> JudgeEndpoint:
        """Return the endpoint that these settings mean."""
        return JudgeEndpoint(
            model=self.model or "", base_url=self.base_url or "", api_key=self.api_key or ""
        )
