"""Deleting what is stored of an end user."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest import Erasure, ErasureReport, Page
from tracejury.view import rfc3339
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.store import erasures as stored

router = APIRouter(prefix="/api/erasures", tags=["operation"])


ErasureId = Annotated[
    str, Path(description="the `id` of an erasure", examples=["387161077b854bf29addaa8e4f9544a9"])
]


class ErasureRequest(BaseModel):
    """Whose traces to delete."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"user_id": "user-7", "dry_run": True}]},
    )

    user_id: str = Field(
        min_length=1, max_length=1000, description="`user_id` of the traces, as they say it"
    )
    project: str | None = Field(
        default=None, max_length=255, description="only in this project; left out, in all"
    )
    dry_run: bool = Field(default=False, description="only count what would be deleted")


@router.post(
    "",
    status_code=202,
    responses=problems(409, 413, 422)
    | {200: {"description": "what a dry run has counted", "model": Erasure}},
)
def erase(context: Context, request: ErasureRequest, response: Response) -> Erasure:
    """Delete everything about the traces of an end user; goes on across restarts.

    The id is forgotten when it is done.
    """
    if request.dry_run:
        response.status_code = 200
        counted = context.eraser.count(request.user_id, request.project)
        return Erasure(id="", state="dry_run", report=_report(counted), project=request.project)
    return _document(context.eraser.request(request.user_id, request.project))


@router.get("", responses=problems())
def list_erasures(context: Context) -> Page[Erasure]:
    """List the newest erasures, at most 100, newest first."""
    return Page(items=[_document(found) for found in stored.find(context.db)])


@router.get("/{erasure_id}", responses=problems(404, 422))
def get_erasure(context: Context, erasure_id: ErasureId) -> Erasure:
    """Return how far an erasure has come."""
    return _document(context.eraser.find(erasure_id))


def _document(made: stored.Erasure) -> Erasure:
    return Erasure(
        id=made.id,
        state=made.state,
        project=made.project,
        requested_at=rfc3339(made.requested_at_ns),
        finished_at=rfc3339(made.finished_at_ns or 0),
        report=_report(made.report),
    )


def _report(made: stored.Erased) -> ErasureReport:
    return ErasureReport(
        traces=made.traces, unnamed=made.unnamed, sessions=made.sessions, deleted=made.deleted
    )
