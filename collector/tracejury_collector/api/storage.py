"""How much is stored, by project."""

from __future__ import annotations

from fastapi import APIRouter

from tracejury.rest import ProjectStorage, RejectedRecords, Storage
from tracejury.view import rfc3339
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.config import RetentionSettings
from tracejury_collector.store.append import SIGNALS
from tracejury_collector.store.database import REJECTED
from tracejury_collector.store.opening import files_aside
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
_MOST_REASONS = 100


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
        records=records(context),
        rejected=rejected_records(context)[:_MOST_REASONS],
        set_aside=files_aside(context.db.path),
        projects=[
            _project(found, retention)
            for found in measure_projects(context.db, space.live_bytes)[:_MOST_PROJECTS]
        ],
    )


def deleted_traces(context: ApiContext) -> dict[str, int]:
    """Return how many traces were deleted so far, by why."""
    counts = context.db.counters()
    return {name: count for (name, signal), count in counts.items() if signal == DELETED}


def records(context: ApiContext) -> dict[str, dict[str, int]]:
    """Return what became of what was received so far, by signal."""
    counts = context.db.counters()
    return {
        signal: {name: count for (name, s), count in counts.items() if s == signal}
        for signal in SIGNALS
    }


def rejected_records(context: ApiContext) -> list[RejectedRecords]:
    """Return why spans and log records were rejected so far, the most frequent first."""
    counts = context.db.counters()
    found = [
        RejectedRecords(signal=signal, reason=reason, count=count)
        for signal in SIGNALS
        for (reason, counted_as), count in counts.items()
        if counted_as == f"{REJECTED}{signal}"
    ]
    return sorted(found, key=lambda row: -row.count)


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
