"""Copies of the whole database, one at a time: to keep elsewhere, or to take the file's place."""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from tracejury_collector.config import StorageSettings
from tracejury_collector.errors import (
    Conflict,
    CopyFailed,
    InvalidRequest,
    NotFound,
    Unavailable,
)
from tracejury_collector.files import MIN_FREE_BYTES
from tracejury_collector.maintenance_log import MAX_PAUSE_S, Job, JobLog, Kind
from tracejury_collector.store.compaction import SWAP_S, Compaction
from tracejury_collector.store.copying import remove_file
from tracejury_collector.store.database import Database
from tracejury_collector.store.snapshots import count_all, write_snapshot
from tracejury_collector.store.storage import Space, measure_space

log = logging.getLogger(__name__)

REMEMBERED = 20
_MARGIN = 2.0
"""By which a pause is said to be longer than it was measured to be."""
_LEAST_PAUSE_S = 4.0
_INTERRUPTED = (
    "it was interrupted: the service stopped before its end; the database is whole, begin again"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Stopped(Exception):
    """The service stops."""


class Maintenance:
    """Takes one job at a time; `step` does it, in the thread that deletes, so that nothing else
    deletes meanwhile.
    """

    def __init__(
        self,
        db: Database,
        settings: StorageSettings,
        now_ns: Callable[[], int] = time.time_ns,
        is_reading_again: Callable[[], bool] = lambda: False,
    ) -> None:
        self._db = db
        self._settings = settings
        self._now_ns = now_ns
        self._is_reading_again = is_reading_again
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._stop = threading.Event()
        self._log = JobLog(db.path)
        self._take_up(self._log.read())

    def _take_up(self, jobs: Sequence[Job]) -> None:
        """Say what became of the jobs of the process before; remove what it left unfinished."""
        for job in jobs[-REMEMBERED:]:
            fault = _fault(job)
            self._jobs[job.id] = replace(job, state="failed", error=fault) if fault else job
        kept = {job.path for job in self._jobs.values() if job.state == "done"}
        remove_leftovers(self._db.path, kept)
        if jobs:
            self._log.write([*self._jobs.values()])

    def compact(self, *, max_pause_s: float = MAX_PAUSE_S) -> Job:
        """Have the file written anew and put in place.

        Raises: Conflict while another job runs, history is read again, or the disk lacks room.
        """
        if self._is_reading_again():
            raise Conflict("history is being read again; wait for that, or cancel it")
        return self._begin("compaction", max_pause_s=max_pause_s)

    def snapshot(self, name: str | None) -> Job:
        """Have a copy written beside the database; without a name one that is to be fetched.

        Raises: Conflict while another job runs, the disk lacks room, or the name is taken;
            InvalidRequest for what is no name.
        """
        if name is not None and not _NAME.fullmatch(name):
            raise InvalidRequest(
                f"name: {name[:100]!r} is no name; take letters, digits, dots and dashes"
            )
        return self._begin("snapshot", name=name or "")

    def is_compacting(self) -> bool:
        """Say whether the file is being written anew."""
        return any(job.kind == "compaction" for job in self._running())

    def find(self, kind: Kind, job_id: str) -> Job:
        """Return a job that is remembered.

        Raises: NotFound
        """
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None or job.kind != kind:
            raise NotFound(f"no {kind} has the id {job_id[:100]!r}; the newest are remembered")
        return job

    def jobs(self, kind: Kind) -> list[Job]:
        """Return the jobs that are remembered, newest first."""
        with self._lock:
            return [job for job in reversed(self._jobs.values()) if job.kind == kind]

    def forget(self, job_id: str) -> None:
        """Remove the file of a snapshot that was to be fetched.

        Raises: NotFound; Conflict while it is written.
        """
        job = self.find("snapshot", job_id)
        if job.state == "running":
            raise Conflict(f"snapshot {job_id!r} is being written; wait for it")
        with self._lock:
            del self._jobs[job_id]
            self._log.write([*self._jobs.values()])
        if not job.name:
            remove_file(job.path)

    def stop(self) -> None:
        """End what is running."""
        self._stop.set()

    def step(self) -> bool:
        """Do the job that waits; return whether there was one."""
        running = self._running()
        if not running:
            return False
        job = running[0]
        try:
            self._compact(job) if job.kind == "compaction" else self._snapshot(job)
        except (CopyFailed, Unavailable, duckdb.Error, OSError, Stopped) as error:
            reason = str(error).partition("\n")[0] or "the service stopped"
            log.warning("%s %s failed: %s", job.kind, job.id, reason)
            self._change(job.id, state="failed", error=reason)
        return True

    def _begin(self, kind: Kind, *, name: str = "", max_pause_s: float = MAX_PAUSE_S) -> Job:
        space = measure_space(self._db)
        _check_room(space)
        job_id = uuid.uuid4().hex
        path = _beside(self._db.path, f"{_SNAPSHOT}{job_id}")
        if name and self._named(name).exists():
            raise Conflict(f"there is a snapshot {name!r} already; take another name")
        job = Job(
            id=job_id,
            kind=kind,
            state="running",
            requested_at_ns=self._now_ns(),
            max_pause_s=max_pause_s,
            name=name,
            path=path if kind == "snapshot" else "",
            rows=count_all(self._db),
            bytes_before=space.file_bytes,
        )
        with self._lock:
            if any(other.state == "running" for other in self._jobs.values()):
                raise Conflict("a compaction or snapshot is running; wait for its end")
            self._jobs[job.id] = job
            while len(self._jobs) > REMEMBERED:
                _, old = self._jobs.popitem(last=False)
                if old.path and not old.name:
                    remove_file(old.path)
            self._log.write([*self._jobs.values()])
        return job

    def _snapshot(self, job: Job) -> None:
        write_snapshot(self._db, job.path, self._settings, self._teller(job))
        path = Path(job.path)
        if job.name:
            path = path.rename(self._named(job.name))
        self._change(job.id, state="done", path=str(path), bytes_after=path.stat().st_size)

    def _named(self, name: str) -> Path:
        """Return where a snapshot of that name lies: beside the database."""
        return Path(self._db.path).absolute().parent / f"{name}.duckdb"

    def _compact(self, job: Job) -> None:
        path = _beside(self._db.path, _COMPACTED)
        compaction = Compaction(self._db, path, self._settings, self._teller(job))
        try:
            self._replace(job, compaction)
        except BaseException:
            compaction.abandon()
            raise
        after = measure_space(self._db).file_bytes
        self._change(job.id, state="done", bytes_after=after)

    def _replace(self, job: Job, compaction: Compaction) -> None:
        """Bring the copy up to date until little is missing, then swap in the time that was said.

        Raises: CopyFailed where that does not succeed.
        """
        compaction.approach()
        said_s = max(_LEAST_PAUSE_S, compaction.rehearse() * _MARGIN + SWAP_S)
        self._change(job.id, estimated_pause_s=said_s)
        if said_s > job.max_pause_s:
            raise CopyFailed(
                f"nothing could be stored for up to {said_s:.1f} s, longer than the "
                f"{job.max_pause_s:g} s that are allowed; allow more, or do it at a quiet time"
            )
        pause_s = compaction.replace(said_s)
        self._change(job.id, pause_s=pause_s)
        log.info("the database was written anew; nothing was stored for %.2f s", pause_s)

    def _teller(self, job: Job) -> Callable[[int], None]:
        def told(rows: int) -> None:
            if self._stop.is_set():
                raise Stopped
            with self._lock:
                now = self._jobs[job.id]
                self._jobs[job.id] = replace(now, rows_copied=now.rows_copied + rows)

        return told

    def _running(self) -> list[Job]:
        with self._lock:
            return [job for job in self._jobs.values() if job.state == "running"]

    def _change(self, job_id: str, **changes: object) -> None:
        with self._lock:
            self._jobs[job_id] = replace(self._jobs[job_id], **changes)  # type: ignore[arg-type]
            self._log.write([*self._jobs.values()])


_COMPACTED = "compacted"
_SNAPSHOT = "snapshot-"


def _fault(job: Job) -> str:
    """Say why a job of the process before came to nothing; "" where it did not."""
    if job.state == "running":
        return _INTERRUPTED
    if job.state == "done" and job.path and not Path(job.path).exists():
        return "its file is gone; take another one"
    return ""


def remove_leftovers(path: str, kept: Collection[str] = ()) -> None:
    """Remove the copies beside the database that a killed service left, but for those to keep."""
    file = Path(path)
    for name in (_COMPACTED, _SNAPSHOT):
        for entry in file.absolute().parent.glob(f"{_escaped(file.name)}.{name}*"):
            if not {str(entry), _beside(path, entry.name[len(file.name) + 1 :])} & {*kept}:
                entry.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _beside(path: str, name: str) -> str:
    return f"{path}.{name}"


def _check_room(space: Space) -> None:
    needed = space.used_bytes + space.wal_bytes + MIN_FREE_BYTES
    if space.disk_free_bytes < needed:
        raise Conflict(
            f"the copy may need {needed >> 20} MiB and {space.disk_free_bytes >> 20} MiB are "
            "free beside the database; make room first"
        )
