"""How much is stored, by project."""

from __future__ import annotations

from fastapi import APIRouter

from tracejury.rest import ProjectStorage, Storage
from tracejury.view import rfc3339
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.config import RetentionSettings
from tracejury_collector.store.storage import (
    ProjectSpace,
    count_rows,
    measure_projects,
    measure_space,
)

router = APIRouter(tags=["operation"])

DELETED = "deleted"
"""The signal under which deleted traces are counted, by why."""
_MOST_PROJECTS = 1000


@router.get("/api/storage", responses=problems())
def get_storage(context: Context) -> Storage:
    """Return what the database takes on disk, and what of each project."""
    space = measure_space(context.db)
    retention = context.config.retention
    return Storage(
        file_bytes=space.file_bytes,
        wal_bytes=space.wal_bytes,
        used_bytes=space.used_bytes,
        live_bytes=space.live_bytes,
        free_bytes=space.free_bytes,
        disk_free_bytes=space.disk_free_bytes,
        limit_bytes=retention.size,
        rows=count_rows(context.db),
        deleted=deleted_traces(context),
        projects=[
            _project(found, retention)
            for found in measure_projects(context.db, space.live_bytes)[:_MOST_PROJECTS]
        ],
    )


def deleted_traces(context: ApiContext) -> dict[str, int]:
    """Return how many traces were deleted so far, by why."""
    counts = context.db.counters()
    return {name: count for (name, signal), count in counts.items() if signal == DELETED}


def _project(found: ProjectSpace, retention: RetentionSettings) -> ProjectStorage:
    spans_s, results_s = retention.ages_of(found.project)
    own = retention.projects.get(found.project)
    return ProjectStorage(
        project=found.project,
        spans=found.spans,
        bytes=found.bytes,
        oldest=rfc3339(found.oldest_ns) or "",
        newest=rfc3339(found.newest_ns) or "",
        keeps_spans_s=spans_s,
        keeps_results_s=results_s,
        limit_bytes=own.size if own else None,
    )
