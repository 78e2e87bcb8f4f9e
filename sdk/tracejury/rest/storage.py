"""How much is stored, as the API shows it."""

from __future__ import annotations

from pydantic import Field

from tracejury.rest.base import Document


class ProjectStorage(Document):
    """What one project holds."""

    project: str = Field(description="name of the project")
    spans: int = Field(description="spans stored")
    bytes: int = Field(description="its share of `live_bytes`, as estimated from its spans")
    oldest: str = Field(description="when the oldest of its spans was received")
    newest: str = Field(description="when the newest of its spans was received")
    keeps_spans_s: float | None = Field(
        default=None, description="how long its spans are kept, in seconds; null: forever"
    )
    keeps_results_s: float | None = Field(
        default=None, description="how long its results are kept, in seconds; null: forever"
    )
    limit_bytes: int | None = Field(
        default=None, description="what its traces may take of the file; null: no limit of its own"
    )


class RejectedRecords(Document):
    """Spans or log records that could not be taken, for one reason."""

    signal: str = Field(description="`spans` or `logs`")
    reason: str = Field(description="why, as the sender was told")
    count: int = Field(description="how many, over restarts; resent ones count again")


class Storage(Document):
    """What the database takes on disk, and what of."""

    file_bytes: int = Field(description="size of the database file")
    wal_bytes: int = Field(description="size of the write-ahead log beside it")
    used_bytes: int = Field(description="bytes of the file that hold data")
    live_bytes: int = Field(
        description="of these, without rows that were deleted from among others, as estimated: "
        "what `limit_bytes` bounds"
    )
    free_bytes: int = Field(
        description="bytes of the file that are written again before it grows; "
        "`tracejury compact` gives them back"
    )
    disk_free_bytes: int = Field(description="free space of the disk that holds the file")
    limit_bytes: int | None = Field(
        default=None, description="`retention.size`; null: no limit, it grows as data comes"
    )
    rows: dict[str, int] = Field(description="rows by table: spans, logs, traces, results, …")
    deleted: dict[str, int] = Field(
        description="traces deleted so far by why: age, size, results, erased; outlives restarts"
    )
    records: dict[str, dict[str, int]] = Field(
        description="what became of the `spans` and `logs` that came, over restarts: received = "
        "stored + duplicate + rejected + shed"
    )
    rejected: list[RejectedRecords] = Field(
        description="why records were rejected, the most frequent reasons first, at most 100"
    )
    set_aside: list[str] = Field(
        description="files beside the database that did not open and were kept, by name"
    )
    projects: list[ProjectStorage] = Field(
        description="projects that have spans, those with the most first, at most 1000"
    )
