"""How much the database holds: of the disk, and of each project."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tracejury_collector.store.database import Database
from tracejury_collector.store.opening import CATALOG, log_files

_SAMPLED_SPANS = 20_000
_SPAN_CHARACTERS = 500
"""What a span takes beside its texts, in the characters that texts are weighed by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Bytes on disk. `free_bytes` of the file are used again before it grows.

    `live_bytes` of those in use are, as estimated, no rows that were deleted from among others.
    """

    file_bytes: int
    wal_bytes: int
    used_bytes: int
    live_bytes: int
    disk_free_bytes: int

    @property
    def free_bytes(self) -> int:
        """What the file takes and does not use; compaction gives it back."""
        return max(0, self.file_bytes - self.used_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSpace:
    """What a project holds; `bytes` is its estimated share of what the database uses."""

    project: str
    spans: int
    bytes: int
    oldest_ns: int
    newest_ns: int


def measure_space(db: Database) -> Space:
    """Return what the database takes on disk now."""
    size = db.rows("database_size", {"catalog": CATALOG})[0]
    live = size["spans"] / max(1, size["spans"], size["places"])
    path = Path(db.path)
    return Space(
        file_bytes=_size(path),
        wal_bytes=sum(_size(Path(log)) for log in log_files(db.path)),
        used_bytes=int(size["used_bytes"]),
        live_bytes=int(size["used_bytes"] * live) if size["spans"] else 0,
        disk_free_bytes=shutil.disk_usage(path.absolute().parent).free,
    )


def count_rows(db: Database) -> dict[str, int]:
    """Return how many rows the tables of users' data hold."""
    return {name: int(count) for name, count in db.rows("rows_of_tables")[0].items()}


def measure_projects(db: Database, used_bytes: int) -> list[ProjectSpace]:
    """Return what the projects hold that have spans, most spans first.

    What the database uses is shared out by the number of spans and the length of their texts, as
    it is among the newest.
    """
    rows = db.rows("spans_of_projects", {"sample": _SAMPLED_SPANS})
    known = [row["characters"] for row in rows if row["characters"] is not None]
    usual = sum(known) / len(known) if known else 0.0
    weights = [row["spans"] * (_SPAN_CHARACTERS + _or(row["characters"], usual)) for row in rows]
    total = max(1.0, sum(weights))
    return [
        ProjectSpace(
            project=row["project"],
            spans=row["spans"],
            bytes=int(used_bytes * weight / total),
            oldest_ns=row["oldest_ns"],
            newest_ns=row["newest_ns"],
        )
        for row, weight in zip(rows, weights, strict=True)
    ]


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
