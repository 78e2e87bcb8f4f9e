"""Storing what the receivers hand over: once, in order, and counted."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracejury_collector import failpoints
from tracejury_collector.errors import Unavailable
from tracejury_collector.store.batch import conform, join, numbered
from tracejury_collector.store.database import NOTHING, REDACTED, REJECTED, Database
from tracejury_collector.store.dedup import WINDOW_NS, WINDOW_ROWS, DedupWindow, Run, Sifted
from tracejury_collector.store.labels import counted, read_labels, write_labels
from tracejury_collector.store.statements import statement

Signal = Literal["spans", "logs"]
SIGNALS: tuple[Signal, ...] = ("spans", "logs")

MAX_ROWS = 20_000
MAX_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Appended:
    """How many rows of a batch were stored, and how many were there already."""

    stored: int
    duplicate: int


@dataclass(kw_only=True, eq=False)
class _Append:
    signal: Signal
    table: pa.Table
    rejected: int
    redacted: Mapping[str, int]
    reasons: Mapping[str, int]
    alone: bool = False
    future: Future[Appended] = field(default_factory=Future)


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """What a flush came to: an answer for each append, and the hashes to remember."""

    answers: list[Appended]
    runs: list[Run]
    rows: int


class Appender:
    """Stores spans and log records; what waits at the same moment shares one commit."""

    def __init__(self, db: Database, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._db = db
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._waiting: deque[_Append] = deque()
        self._flushing = False
        self._window = DedupWindow()
        self._next_seq, self._last_ns = self._load()

    def append(
        self,
        signal: Signal,
        table: pa.Table,
        rejected: int,
        redacted: Mapping[str, int] = NOTHING,
        reasons: Mapping[str, int] = NOTHING,
    ) -> Future[Appended]:
        """Store the rows that are new; resolves once they are on disk.

        `rejected` rows of the same request never became part of the table; they are counted, by
        `reasons` too, and so is what was `redacted` in the others, by name.

        Raises: MalformedRequest when the table is not as the schema of the signal says.
        """
        append = _Append(
            signal=signal,
            table=conform(signal, table),
            rejected=rejected,
            redacted=redacted,
            reasons=reasons,
        )
        append.future.set_running_or_notify_cancel()  # what is handed over cannot be taken back
        with self._lock:
            self._waiting.append(append)
            idle, self._flushing = not self._flushing, True
        if idle:
            self._flush()
        return append.future

    def account(
        self,
        signal: Signal,
        *,
        rejected: int = 0,
        reasons: Mapping[str, int] = NOTHING,
        shed: int = 0,
        shed_requests: int = 0,
    ) -> Future[None]:
        """Count what was received and never became a batch; resolves once that is on disk."""

        def count(_: duckdb.DuckDBPyConnection) -> None:
            self._db.tally(
                signal,
                received=rejected + shed,
                rejected=rejected,
                shed=shed,
                shed_requests=shed_requests,
            )
            self._db.tally(f"{REJECTED}{signal}", **reasons)

        return self._db.write(count)

    @property
    def newest_ns(self) -> int:
        """When the newest row came."""
        return self._last_ns

    def is_pressed(self) -> bool:
        """Return whether requests wait for more than the commit that is under way."""
        return bool(self._waiting)

    def _flush(self) -> None:
        """Hand what waits to the writer as one operation; there is never a second one."""
        group: list[_Append] = []

        def store(connection: duckdb.DuckDBPyConnection) -> _Stored:
            if not group:
                group.extend(self._take())
            return self._store(connection, group)

        try:
            self._db.write(store).add_done_callback(lambda done: self._answer(group, done))
        except Unavailable as error:
            failed: Future[_Stored] = Future()
            failed.set_exception(error)
            self._answer(self._take(), failed)

    def _take(self) -> list[_Append]:
        """Return the appends for one commit, in the order they came."""
        with self._lock:
            taken: list[_Append] = []
            rows = size = 0
            while self._waiting:
                first = self._waiting[0]
                rows += first.table.num_rows
                size += first.table.nbytes
                if taken and (first.alone or rows > MAX_ROWS or size > MAX_BYTES):
                    break
                taken.append(self._waiting.popleft())
                if first.alone:
                    break
            return taken

    def _answer(self, group: list[_Append], done: Future[_Stored]) -> None:
        """Answer the appends of a flush, and start the next one."""
        error = done.exception()
        if error is None:
            stored = done.result()
            self._next_seq += stored.rows
            for run in stored.runs:
                self._window.remember(run)
            for append, answer in zip(group, stored.answers, strict=True):
                append.future.set_result(answer)
        elif len(group) == 1 or isinstance(error, Unavailable):
            for append in group:
                append.future.set_exception(error)
        else:
            self._retry_each(group)
        with self._lock:
            self._flushing = bool(self._waiting)
        if self._flushing:
            self._flush()

    def _retry_each(self, group: Sequence[_Append]) -> None:
        """Put the appends of a failed flush back, so that only the culprit fails."""
        with self._lock:
            for append in reversed(group):
                append.alone = True
                self._waiting.appendleft(append)

    def _store(self, connection: duckdb.DuckDBPyConnection, group: Sequence[_Append]) -> _Stored:
        now_ns = self._last_ns = max(self._now_ns(), self._last_ns)
        answers: dict[int, Appended] = {}
        runs: list[Run] = []
        seq = self._next_seq
        for signal in SIGNALS:
            part = [append for append in group if append.signal == signal]
            if not part:
                continue
            table = join([append.table for append in part])
            sifted = self._sift(table, now_ns)
            runs.append(sifted.run)
            batch = numbered(table, sifted.new, seq, now_ns)
            failpoints.reach_with("store.storing", partial(_holds_trace, batch))
            _insert(connection, signal, batch)
            self._add_labels(connection, batch, now_ns)
            seq += len(sifted.run)
            found = _split(part, sifted.new)
            answers.update(zip(map(id, part), found, strict=True))
            self._count(signal, part, found)
        return _Stored(
            answers=[answers[id(append)] for append in group], runs=runs, rows=seq - self._next_seq
        )

    def _add_labels(
        self, connection: duckdb.DuckDBPyConnection, batch: pa.Table, now_ns: int
    ) -> None:
        """Store the labels that the rows carry, each once however often it comes."""
        column = batch["labels"]
        if column.null_count < batch.num_rows:
            found = write_labels(connection, read_labels(column.to_pylist()), now_ns)
            self._db.tally("labels", **counted(found))

    def _sift(self, table: pa.Table, now_ns: int) -> Sifted:
        high, low = (table[name].to_numpy() for name in ("content_hash_high", "content_hash_low"))
        return self._window.sift(high, low, now_ns)

    def _count(self, signal: str, part: Sequence[_Append], found: Sequence[Appended]) -> None:
        rejected = sum(append.rejected for append in part)
        self._db.tally(
            signal,
            received=rejected + sum(append.table.num_rows for append in part),
            rejected=rejected,
            stored=sum(answer.stored for answer in found),
            duplicate=sum(answer.duplicate for answer in found),
        )
        for append in part:
            self._db.tally(REDACTED, **append.redacted)
            self._db.tally(f"{REJECTED}{signal}", **append.reasons)

    def _load(self) -> tuple[int, int]:
        """Fill the window from the database; return the next seq and the time of the newest row."""
        with self._db.read() as cursor:
            last = cursor.execute(statement("last_row")).fetchone()
            last_seq, last_ns = last if last else (0, 0)
            since = [last_seq - WINDOW_ROWS, last_ns - WINDOW_NS]
            columns = cursor.execute(statement("recent_hashes"), since).fetchnumpy()
        high, low = (np.asarray(columns[name], dtype=np.uint64) for name in ("high", "low"))
        self._window.load(high, low, self._now_ns())  # the time that nobody received does not count
        return last_seq + 1, last_ns


def _holds_trace(batch: pa.Table, trace_id: str) -> bool:
    return trace_id in batch["trace_id"].to_pylist()


def _insert(connection: duckdb.DuckDBPyConnection, signal: str, batch: pa.Table) -> None:
    if batch.num_rows:
        connection.register("batch", batch)
        connection.execute(statement(f"insert_{signal}"))
        connection.execute(statement(f"note_arrival_of_{signal}"))
        connection.unregister("batch")


def _split(part: Sequence[_Append], new: NDArray[np.bool_]) -> list[Appended]:
    """Return the answer to each append, from which of their rows are new."""
    ends = np.cumsum([append.table.num_rows for append in part])
    found = []
    for mine in np.split(new, ends[:-1]):
        stored = int(np.count_nonzero(mine))
        found.append(Appended(stored=stored, duplicate=len(mine) - stored))
    return found
