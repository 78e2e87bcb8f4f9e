"""The writer: one thread that runs what waits in one transaction and commits it together."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import duckdb
import orjson

from tracejury.errors import TracejuryError
from tracejury_collector import failpoints
from tracejury_collector.errors import Unavailable
from tracejury_collector.store.instance import Instance, Witnessed
from tracejury_collector.store.opening import is_damage, is_starved

T = TypeVar("T")
Operation = Callable[[duckdb.DuckDBPyConnection], Any]

_log = logging.getLogger(__name__)

MAX_GROUP = 64
_RETRY_S = 1.0
_LEDGER = "UPDATE base.ledger SET commit_id = ?, counters = ?"


@dataclass(frozen=True, eq=False)
class _Write:
    operation: Operation
    future: Future[Any]


@dataclass(frozen=True, eq=False)
class _Aside:
    """What is done to the instance itself, between two commits."""

    operation: Callable[[Instance], Any]
    future: Future[Any]


@dataclass
class _Attempt:
    """What a group came to, valid once its commit is on disk."""

    commit_id: int
    results: list[Any] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)


class _Blamed(Exception):
    """One operation of a group raised."""

    def __init__(self, write: _Write, error: Exception) -> None:
        super().__init__(str(error))
        self.write = write
        self.error = error


class Writer:
    """Runs operations in the order they came, as many in one commit as wait at that moment."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._ready = threading.Condition()
        self._queue: deque[_Write | _Aside] = deque()
        self._stopping = False
        self._commit_id, self._committed = self._ledger()
        self._tallied: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[duckdb.DuckDBPyConnection], T]) -> Future[T]:
        """See `Database.write`."""
        future: Future[T] = Future()
        self._put(_Write(operation, cast("Future[Any]", future)))
        return future

    def aside(self, operation: Callable[[Instance], T]) -> Future[T]:
        """See `Database.aside`."""
        future: Future[T] = Future()
        self._put(_Aside(operation, cast("Future[Any]", future)))
        return future

    def _put(self, item: _Write | _Aside) -> None:
        with self._ready:
            if self._stopping:
                raise Unavailable("the database is closed")
            self._queue.append(item)
            self._ready.notify()

    def tally(self, signal: str, counts: Mapping[str, int]) -> None:
        """See `Database.tally`."""
        for name, count in counts.items():
            if count:
                self._tallied[f"{signal}.{name}"] += count

    def counters(self) -> dict[tuple[str, str], int]:
        """See `Database.counters`."""
        committed = self._committed
        pairs = ((key.partition("."), value) for key, value in committed.items())
        return {(name, signal): value for (signal, _, name), value in pairs}

    def stop(self) -> None:
        """Finish what is queued, then end the thread."""
        with self._ready:
            self._stopping = True
            self._ready.notify()
        self._thread.join()

    def _run(self) -> None:
        while group := self._take():
            if isinstance(group, _Aside):
                self._do_aside(group)
            else:
                self._write(group)

    def _take(self) -> list[_Write] | _Aside | None:
        """Return what waits, at least one write; None when the writer is to stop."""
        with self._ready:
            while True:
                self._ready.wait_for(lambda: self._queue or self._stopping)
                if not self._queue:
                    return None
                first = self._queue[0]
                if isinstance(first, _Aside):
                    self._queue.popleft()
                    if first.future.set_running_or_notify_cancel():
                        return first
                elif group := self._taken():
                    return group

    def _taken(self) -> list[_Write]:
        """Return the writes at the head of the queue, as many as one commit takes."""
        taken: list[_Write] = []
        while self._queue and len(taken) < MAX_GROUP:
            first = self._queue[0]
            if isinstance(first, _Aside):
                break
            taken.append(first)
            self._queue.popleft()
        return [write for write in taken if write.future.set_running_or_notify_cancel()]

    def _do_aside(self, aside: _Aside) -> None:
        """Do what is done between two commits, and see that the database is open afterwards."""
        try:
            result = aside.operation(self._instance)
        except BaseException as error:  # noqa: BLE001 - it is told to who asked
            self._recover(error)
            aside.future.set_exception(error)
        else:
            self._recover(None)
            aside.future.set_result(result)

    def _recover(self, error: BaseException | None) -> None:
        try:
            self._commit_id, self._committed = self._ledger()
        except (TracejuryError, duckdb.Error) as broken:
            with contextlib.suppress(Unavailable):
                self._reopen(error if isinstance(error, Exception) else broken)

    def _write(self, group: list[_Write]) -> None:
        """Answer every write of the group."""
        while group:
            try:
                results = self._commit(group)
            except _Blamed as blame:
                blame.write.future.set_exception(blame.error)
                group = [write for write in group if write is not blame.write]
            except Unavailable as error:
                return _fail(group, error)
            except duckdb.Error as error:
                return _fail(group, error) if len(group) == 1 else self._write_each(group)
            else:
                return _succeed(group, results)
        return None

    def _write_each(self, group: list[_Write]) -> None:
        for write in group:
            self._write([write])

    def _commit(self, group: list[_Write]) -> list[Any]:
        """Return the results of the group's operations once they are on disk.

        Raises: _Blamed for an operation that raised; Unavailable, or a DuckDB error that cannot be
        blamed on one of them.
        """
        self._instance.check_room()
        attempt = _Attempt(self._commit_id + 1)
        try:
            self._transact(group, attempt)
        except (_Blamed, duckdb.Error) as error:
            cause = error.error if isinstance(error, _Blamed) else error
            grown = is_starved(cause) and self._instance.grow()
            if self._instance.roll_back() and not grown:
                raise
            self._reopen(error)
            if self._commit_id != attempt.commit_id:
                raise Unavailable(f"the database failed and was opened anew: {error}") from error
        else:
            self._commit_id, self._committed = attempt.commit_id, attempt.counters
        self._instance.witness(_witnessed(self._commit_id, self._committed))
        return attempt.results

    def _transact(self, group: list[_Write], attempt: _Attempt) -> None:
        self._tallied.clear()
        connection = self._instance.root
        connection.execute("BEGIN")
        for write in group:
            try:
                attempt.results.append(write.operation(connection))
            except duckdb.TransactionException:
                raise  # an earlier operation spoiled the transaction and hid its error
            except Exception as error:
                raise _Blamed(write, error) from error
        attempt.counters = self._committed + self._tallied
        connection.execute(_LEDGER, [attempt.commit_id, orjson.dumps(attempt.counters).decode()])
        failpoints.reach("store.committing")
        connection.execute("COMMIT")
        failpoints.reach("store.committed")

    def _reopen(self, reason: Exception) -> None:
        """Open the file anew, however long that takes; what the disk says then holds.

        A file that takes nothing in any more because it is damaged is set aside.
        """
        _log.critical("%s: opening anew after: %s", self._instance.path, reason)
        while True:
            try:
                if is_damage(reason):
                    self._instance.start_afresh(reason)
                else:
                    self._instance.reopen()
                self._commit_id, self._committed = self._ledger()
                return
            except (TracejuryError, duckdb.Error, OSError) as error:
                _log.critical("%s: not open yet: %s", self._instance.path, error)
            with self._ready:
                if self._ready.wait_for(lambda: self._stopping, timeout=_RETRY_S):
                    raise Unavailable("the database failed and the service is stopping")

    def _ledger(self) -> tuple[int, Counter[str]]:
        """Return the last commit as it stands on disk, and what was counted.

        What was answered and is gone is counted too; that is kept with the next commit.
        """
        commit_id, told = self._instance.last_commit()
        counters = Counter[str](orjson.loads(told))
        lost = self._instance.loss(_witnessed(commit_id, counters))
        for signal, count in (("spans", lost.spans), ("logs", lost.logs)):
            if count:
                counters[f"{signal}.lost"] += count
        return commit_id, counters


def _witnessed(commit_id: int, counters: Counter[str]) -> Witnessed:
    return Witnessed(
        commit_id=commit_id, spans=counters["spans.stored"], logs=counters["logs.stored"]
    )


def _succeed(group: list[_Write], results: list[Any]) -> None:
    for write, result in zip(group, results, strict=True):
        write.future.set_result(result)


def _fail(group: list[_Write], error: BaseException) -> None:
    for write in group:
        write.future.set_exception(error)
