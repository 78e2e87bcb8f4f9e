"""What /metrics tells of the space that the database takes."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.storage import deleted_traces
from tracejury_collector.files import folder_bytes
from tracejury_collector.metrics import counter, gauge, gauges
from tracejury_collector.store.opening import files_aside
from tracejury_collector.store.storage import measure_space


def storage_metrics(context: ApiContext) -> Iterator[Metric]:
    """Yield what is told of the file, the disk, and what was deleted."""
    space = measure_space(context.db)
    sizes: dict[tuple[str, ...], float] = {
        ("file",): space.file_bytes,
        ("wal",): space.wal_bytes,
        ("used",): space.used_bytes,
        ("live",): space.live_bytes,
        ("disk_free",): space.disk_free_bytes,
        ("journal",): folder_bytes(context.config.journal_folder()),
    }
    limit = context.config.retention.size
    yield gauges(
        "tracejury_storage_bytes",
        "Size of the database file, of its log, of its blocks in use, of what lives in "
        "them, of what was acknowledged and is not in it yet, and what the disk has left; limit: "
        "what may live in it.",
        ["what"],
        sizes | ({("limit",): limit} if limit else {}),
    )
    yield gauge(
        "tracejury_storage_set_aside",
        "Files beside the database that did not open and were kept.",
        len(files_aside(context.db.path)),
    )
    yield counter(
        "tracejury_traces_deleted",
        "Traces that were deleted, by why. Outlives restarts.",
        ["why"],
        {(why,): count for why, count in deleted_traces(context).items()},
    )
