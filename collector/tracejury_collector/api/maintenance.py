"""Copies of the whole database: the file written anew, and snapshots."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import FileResponse
from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest import Compaction, Page, Snapshot
from tracejury.view import rfc3339
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.errors import Conflict
from tracejury_collector.maintenance_log import MAX_PAUSE_S, Job

router = APIRouter(tags=["operation"])
_FILE = "application/vnd.duckdb"


_ID = "387161077b854bf29addaa8e4f9544a9"
CompactionId = Annotated[str, Path(description="the `id` of a compaction", examples=[_ID])]
SnapshotId = Annotated[str, Path(description="the `id` of a snapshot", examples=[_ID])]


class CompactionRequest(BaseModel):
    """How to write the database anew."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"max_pause_s": 3}]})

    max_pause_s: float = Field(
        default=MAX_PAUSE_S,
        gt=0,
        le=3600,
        description="longest time that nothing may be stored, in seconds",
    )


class SnapshotRequest(BaseModel):
    """Where a copy is to be."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "before-upgrade"}]}
    )

    name: str | None = Field(
        default=None,
        max_length=100,
        description="it stays beside the database as NAME.duckdb; left out, it is there to be "
        "fetched, and removed then",
    )


@router.post("/api/compactions", status_code=202, responses=problems(409, 413, 422))
def compact(context: Context, request: CompactionRequest) -> Compaction:
    """Have the database file written anew, without the room that deleted rows leave.

    Most is copied while the service works; the rest while nothing is stored, for no longer than
    `estimated_pause_s` says before.
    """
    return _compaction(context.maintenance.compact(max_pause_s=request.max_pause_s))


@router.get("/api/compactions", responses=problems())
def list_compactions(context: Context) -> Page[Compaction]:
    """List the newest compactions, those of before a restart too."""
    return Page(items=[_compaction(job) for job in context.maintenance.jobs("compaction")])


@router.get("/api/compactions/{compaction_id}", responses=problems(404, 422))
def get_compaction(context: Context, compaction_id: CompactionId) -> Compaction:
    """Return how far a compaction has come."""
    return _compaction(context.maintenance.find("compaction", compaction_id))


@router.post("/api/snapshots", status_code=202, responses=problems(409, 413, 422))
def take_snapshot(context: Context, request: SnapshotRequest) -> Snapshot:
    """Have a consistent copy of the database written, while the service works."""
    return _snapshot(context.maintenance.snapshot(request.name))


@router.get("/api/snapshots", responses=problems())
def list_snapshots(context: Context) -> Page[Snapshot]:
    """List the newest snapshots, those of before a restart too."""
    return Page(items=[_snapshot(job) for job in context.maintenance.jobs("snapshot")])


@router.get("/api/snapshots/{snapshot_id}", responses=problems(404, 422))
def get_snapshot(context: Context, snapshot_id: SnapshotId) -> Snapshot:
    """Return how far a snapshot has come."""
    return _snapshot(context.maintenance.find("snapshot", snapshot_id))


@router.get(
    "/api/snapshots/{snapshot_id}/file",
    response_class=FileResponse,
    responses=problems(404, 409, 422)
    | {
        200: {
            "description": "the database file",
            "content": {_FILE: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
def fetch_snapshot(context: Context, snapshot_id: SnapshotId) -> FileResponse:
    """Return the file of a snapshot that is done."""
    job = context.maintenance.find("snapshot", snapshot_id)
    if job.state != "done":
        raise Conflict(f"snapshot {snapshot_id!r} is {job.state}; fetch it when it is done")
    return FileResponse(job.path, media_type=_FILE, filename=f"{job.name or 'snapshot'}.duckdb")


@router.delete("/api/snapshots/{snapshot_id}", status_code=204, responses=problems(404, 409, 422))
def forget_snapshot(context: Context, snapshot_id: SnapshotId) -> None:
    """Remove a snapshot that was to be fetched; of one with a name the file stays."""
    context.maintenance.forget(snapshot_id)


def _compaction(job: Job) -> Compaction:
    return Compaction.model_validate(_fields(job))


def _snapshot(job: Job) -> Snapshot:
    return Snapshot.model_validate(_fields(job))


def _fields(job: Job) -> dict[str, object]:
    wanted = Snapshot if job.kind == "snapshot" else Compaction
    row = {**asdict(job), "requested_at": rfc3339(job.requested_at_ns)}
    return {name: value for name, value in row.items() if name in wanted.model_fields}
