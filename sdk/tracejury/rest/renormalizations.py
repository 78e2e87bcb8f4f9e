"""Reading history again, as the API shows it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracejury.rest.base import Document


class RenormalizationReport(Document):
    """What was read again so far, and what came out differently."""

    spans: int = Field(default=0, description="spans read")
    spans_changed: int = Field(default=0, description="spans whose columns came out differently")
    traces: int = Field(default=0, description="traces assembled")
    traces_changed: int = Field(
        default=0, description="traces that came out differently: each has a new revision"
    )
    unreadable: int = Field(default=0, description="arrivals passed over, too large to be read")
    columns: dict[str, dict[str, int]] = Field(
        default={},
        description="by table and column: values `gained` (were null), `lost` and `changed`",
    )
    examples: list[str] = Field(default=[], description="ids of traces that changed, at most 20")


class Renormalization(Document):
    """A request to read history again, and how far it has come."""

    id: str
    state: Literal["running", "done", "canceled", "failed"]
    dry_run: bool = Field(description="nothing is written, only reported")
    requested_at: str
    ended_at: str | None = None
    since: str | None = Field(default=None, description="spans received then or later")
    until: str | None = Field(default=None, description="spans received before")
    done: float = Field(description="share of the arrivals looked at, from 0 to 1")
    report: RenormalizationReport
