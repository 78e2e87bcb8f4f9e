"""What people and programs say about traces and sessions."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tracejury.labels import MAX_COMMENT_CHARS, MAX_ID_CHARS, MAX_NAME_CHARS
from tracejury.rest.base import Document
from tracejury.result import Verdict

MAX_LABELS = 1000
MAX_SESSION_CHARS = 1000


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _value(value: Any) -> bool | float | str | None:
    """Return the value; an error says what one is, where a union's would say what it is not."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and 0 < len(value.strip()) <= MAX_NAME_CHARS:
        return value.strip()
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(
            f"give true or false, a finite number, or a word of 1 to {MAX_NAME_CHARS} characters"
        )
    return number


Hex = BeforeValidator(_lower)
Name = Annotated[str, BeforeValidator(_stripped), Field(min_length=1, max_length=MAX_NAME_CHARS)]
Value = Annotated[bool | float | str | None, BeforeValidator(_value)]


class LabelInput(BaseModel):
    """A label to store: about a trace, a span of it, or a session; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(description="what was asked about", examples=["correct"])
    value: Value = Field(
        default=None,
        description="true or false (pass or fail), a number on any scale, or a word",
    )
    verdict: Verdict | None = Field(default=None, description="if the value does not say it")
    comment: str = Field(default="", max_length=MAX_COMMENT_CHARS, description="why, in words")
    author: str = Field(default="", max_length=MAX_NAME_CHARS, description="who says it")
    trace_id: Annotated[str, Hex] | None = Field(
        default=None, pattern="^[0-9a-f]{32}$", description="the trace; it may arrive later"
    )
    span_id: Annotated[str, Hex] | None = Field(
        default=None, pattern="^[0-9a-f]{16}$", description="a span of the trace"
    )
    session_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_SESSION_CHARS,
        description="the session, in place of a trace",
    )
    project: str = Field(
        default="", max_length=MAX_NAME_CHARS, description="of a session; else `default`"
    )
    label_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_ID_CHARS,
        description="an id of yours: sent again it changes that label and adds none",
    )
    created_at: str | None = Field(default=None, description="when it was said; else now")

    @model_validator(mode="after")
    def _has_one_target(self) -> LabelInput:
        if (self.trace_id is None) == (self.session_id is None):
            raise ValueError("give either trace_id or session_id: what the label is about")
        if self.trace_id == "0" * 32:
            raise ValueError("a trace_id of zeros names no trace")
        if self.span_id and self.trace_id is None:
            raise ValueError("a span_id needs its trace_id")
        return self

    @model_validator(mode="after")
    def _says_something(self) -> LabelInput:
        if self.value is None and self.verdict is None and not self.comment.strip():
            raise ValueError("a label says something: give value, verdict or comment")
        return self


class LabelsInput(BaseModel):
    """Labels to store: `{"items": [...]}`, a list of labels, or one label."""

    model_config = ConfigDict(extra="forbid")

    items: list[LabelInput] = Field(
        min_length=1, max_length=MAX_LABELS, description="the labels, all stored or none"
    )

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, given: Any) -> Any:
        if isinstance(given, list):
            return {"items": given}
        return given if not isinstance(given, dict) or "items" in given else {"items": [given]}


class Label(Document):
    """What somebody said about a trace, a span of it, or a session."""

    label_id: str
    target_kind: Literal["trace", "span", "session"]
    trace_id: str | None = None
    span_id: str | None = None
    session_id: str | None = None
    project: str | None = None
    name: str
    score: float | None = None
    verdict: Verdict | None = None
    value: float | None = None
    label: str | None = None
    comment: str | None = None
    author: str | None = None
    source: str
    created_at: str
    received_at: str | None = None


class LabelsStored(Document):
    """What became of labels: those stored as they stand now, in the order given."""

    items: list[Label]
    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    unknown: list[str] = Field(
        default=[], description="ids of traces and sessions that nothing has arrived of yet"
    )
