"""What became of copies of the database, in a file beside it: it outlives the process."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

log = logging.getLogger(__name__)

Kind = Literal["compaction", "snapshot"]
State = Literal["running", "done", "failed"]

MAX_PAUSE_S = 6.0
"""Exporters ride out about seven seconds without an answer."""
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One copy, and how far it is. `path` is the file of a snapshot, on the service's machine."""

    id: str
    kind: Kind
    state: State
    requested_at_ns: int
    max_pause_s: float = MAX_PAUSE_S
    name: str = ""
    path: str = ""
    rows: int = 0
    rows_copied: int = 0
    estimated_pause_s: float | None = None
    pause_s: float | None = None
    bytes_before: int = 0
    bytes_after: int | None = None
    error: str = ""


_JOBS = TypeAdapter(list[Job])


class JobLog:
    """The file: all jobs, oldest first. What it cannot keep is forgotten at the next start."""

    def __init__(self, database: str) -> None:
        self._file = Path(f"{database}.jobs")

    def read(self) -> list[Job]:
        """Return the jobs; none where the file is missing, spoiled or not of ours."""
        try:
            if self._file.stat().st_size > _MAX_BYTES:
                return []
            return _JOBS.validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return []
        except (OSError, ValidationError) as error:
            log.warning(
                "%s cannot be read; what it says of copies is forgotten: %s",
                self._file,
                str(error).partition("\n")[0],
            )
            return []

    def write(self, jobs: Sequence[Job]) -> None:
        """Put the jobs in place of those there."""
        part = self._file.with_name(f"{self._file.name}.part")
        try:
            part.write_bytes(_JOBS.dump_json([*jobs]))
            os.replace(part, self._file)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._file, error)
