"""Reading history again by the dialects in force."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest import Page, Renormalization, RenormalizationReport
from tracejury.view import rfc3339
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.api.times import parse_time
from tracejury_collector.store import renormalizations as stored

router = APIRouter(prefix="/api/renormalizations", tags=["operation"])


RequestId = Annotated[str, Path(description="id of a request")]


class Request(BaseModel):
    """Which spans to read again; all where no time is given."""

    model_config = ConfigDict(extra="forbid", strict=True)

    since: str | None = Field(
        default=None, description="received then or later: RFC 3339, or 90m, 6h, 2d ago"
    )
    until: str | None = Field(default=None, description="received before: RFC 3339, or 90m ago")
    dry_run: bool = Field(default=False, description="report what would change, write nothing")


@router.post("", status_code=202, responses=problems(400, 409, 413, 422))
def renormalize(context: Context, request: Request) -> Renormalization:
    """Have history read again by the dialects in force; goes on across restarts."""
    now_ns = time.time_ns()
    made = context.renormalizer.request(
        since_ns=parse_time(request.since, "since", now_ns) if request.since else None,
        until_ns=parse_time(request.until, "until", now_ns) if request.until else None,
        dry_run=request.dry_run,
    )
    return _document(made)


@router.get("", responses=problems())
def list_renormalizations(context: Context) -> Page[Renormalization]:
    """List the newest requests, at most 100, newest first."""
    return Page(items=[_document(found) for found in stored.find(context.db)])


@router.get("/{request_id}", responses=problems(404))
def get_renormalization(context: Context, request_id: RequestId) -> Renormalization:
    """Return how far a request has come, and what it has found so far."""
    return _document(context.renormalizer.find(request_id))


@router.delete("/{request_id}", responses=problems(404))
def cancel_renormalization(context: Context, request_id: RequestId) -> Renormalization:
    """End a request where it stands; what it has written stays."""
    return _document(context.renormalizer.cancel(request_id))


def _document(made: stored.Renormalization) -> Renormalization:
    return Renormalization(
        id=made.id,
        state=made.state,
        dry_run=made.dry_run,
        requested_at=rfc3339(made.requested_at_ns) or "",
        ended_at=_time(made.ended_at_ns),
        since=_time(made.since_ns),
        until=_time(made.until_ns),
        done=made.done,
        report=RenormalizationReport.model_validate(made.report),
    )


def _time(time_ns: int | None) -> str | None:
    return None if time_ns is None else rfc3339(time_ns)
