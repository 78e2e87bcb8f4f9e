"""What the service tells others: results over OTLP, alerts to webhooks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from tracejury_collector.config.fields import Seconds, SecondsFromZero, Section
from tracejury_evaluators.process.target import check_header_types, check_headers, check_url

MAX_ALERTS = 100
AlertName = Annotated[str, Field(max_length=100, pattern=r"^[\w .:-]+$")]


def _checked_types(headers: Any) -> Any:
    check_header_types(headers, (str,))
    return headers


Headers = Annotated[dict[str, str], BeforeValidator(_checked_types)]


class OtlpExportSettings(Section):
    """Results as `gen_ai.evaluation.result` events to an OTLP receiver."""

    endpoint: str | None = Field(
        default=None,
        repr=False,
        description="base URL of the receiver, such as `https://otlp.example.com:4318`; left out, "
        "nothing is exported ([export.md](export.md))",
    )
    protocol: Literal["http/protobuf", "grpc"] = Field(
        default="http/protobuf", description="how the receiver is spoken to"
    )
    headers: Headers = Field(
        default={}, repr=False, description="headers to send; take secrets from `${VAR}`"
    )
    outcomes: list[Literal["score", "skip", "failure"]] = Field(
        default=["score", "failure"], min_length=1, description="which outcomes are exported"
    )
    rules: list[str] | None = Field(
        default=None, min_length=1, description="only results of these rules; left out, of all"
    )
    start: Literal["now", "beginning"] = Field(
        default="now",
        description="with which result the first export begins: those from then on, or all",
    )
    explanation_characters: int = Field(
        default=2000, ge=0, le=32_000, description="characters of a reason that are sent; 0: none"
    )
    batch: int = Field(default=500, gt=0, le=5000, description="most results in one request")
    tick: Seconds = Field(
        default=1.0, description="how often new results are looked for, in seconds"
    )
    timeout: Seconds = Field(
        default=10.0, le=300, description="longest wait for an answer, in seconds"
    )
    backlog: int = Field(
        default=1_000_000,
        gt=0,
        description="most results that wait; while the receiver is away the oldest are left out",
    )

    @model_validator(mode="after")
    def _can_be_sent(self) -> Self:
        if self.endpoint is not None:
            like = "an OTLP endpoint looks like http://collector.example.com:4318"
            check_url(self.endpoint, like)
        check_headers(self.headers.items())
        return self


class ExportSettings(Section):
    """Where results are sent."""

    otlp: OtlpExportSettings = OtlpExportSettings()


class WebhookSettings(Section):
    """Where the messages of an alert are posted to."""

    url: str = Field(
        repr=False, description="URL that messages are posted to, such as that of a Slack webhook"
    )
    headers: Headers = Field(
        default={}, repr=False, description="headers to send; take secrets from `${VAR}`"
    )

    @model_validator(mode="after")
    def _can_be_posted_to(self) -> Self:
        check_url(self.url, "a webhook's URL looks like https://hooks.example.com/alerts")
        check_headers(self.headers.items())
        return self


class PassRateSettings(Section):
    """A pass rate that must not fall below a bound."""

    below: float = Field(gt=0, le=1, description="the alert holds while the pass rate is below it")
    min_judged: int = Field(
        default=30, gt=0, description="fewer judged traces than this say nothing"
    )
    since: Seconds = Field(default=3600.0, description="how far the rate looks back, in seconds")
    rule: str | None = Field(default=None, description="only results of this rule")
    evaluator: str | None = Field(default=None, description="only results of this evaluator")
    confident: bool = Field(
        default=False, description="hold only when the whole 95 % interval lies below"
    )


class AlertSpec(Section):
    """A condition that is looked at on a schedule, and who is told."""

    model_config = ConfigDict(serialize_by_alias=True)

    sql: str | None = Field(
        default=None,
        min_length=1,
        description="a SELECT over the views ([sql.md](sql.md)); the alert holds while it gives a "
        "row ([alerts.md](alerts.md))",
    )
    pass_rate: PassRateSettings | None = Field(
        default=None, description="instead of `sql`: a pass rate and its bound"
    )
    every: Seconds = Field(default=60.0, ge=1, description="how often it is looked at, in seconds")
    hold: SecondsFromZero = Field(
        default=0.0,
        alias="for",
        description="how long it must hold before it fires, in seconds",
    )
    cooldown: Seconds = Field(
        default=3600.0,
        description="least time between two messages that it fires, in seconds; while it goes on "
        "firing it is told again after it",
    )
    description: str | None = Field(
        default=None, max_length=1000, description="what to do about it: stands in the message"
    )
    webhook: WebhookSettings | None = Field(
        default=None, description="who is told; left out, it is only shown"
    )

    @model_validator(mode="after")
    def _has_one_condition(self) -> Self:
        if (self.sql is None) == (self.pass_rate is None):
            raise ValueError("an alert has either sql or pass_rate")
        return self
