"""Deleting what is stored of an end user, as the API shows it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracejury.rest.base import Document


class ErasureReport(Document):
    """What there was to delete when it was asked for, and what is deleted by now."""

    traces: int = Field(description="traces of the user")
    unnamed: int = Field(
        description="of these, traces that name nobody, in sessions where nobody else is named"
    )
    sessions: int = Field(description="sessions that these traces belong to")
    deleted: int = Field(default=0, description="traces deleted so far")


class Erasure(Document):
    """A request to delete what is stored of an end user; whom it is about is not told."""

    id: str = Field(description="its id; empty for a dry run")
    state: Literal["running", "done", "dry_run"] = Field(description="how far it is")
    project: str | None = Field(default=None, description="only in this project; null: in all")
    requested_at: str | None = Field(
        default=None, description="when it was asked for; null for a dry run"
    )
    finished_at: str | None = Field(default=None, description="when it was done; null until then")
    report: ErasureReport = Field(description="what there was, and what is gone")
