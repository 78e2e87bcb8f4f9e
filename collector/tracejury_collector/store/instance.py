"""The open DuckDB instance, opened anew when DuckDB declares it dead."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracejury_collector.config import StorageSettings
from tracejury_collector.errors import (
    ConfigError,
    CopyFailed,
    Damaged,
    ShortOfMemory,
    Unavailable,
)
from tracejury_collector.files import check_room
from tracejury_collector.store.foreign import refuse_foreign, witness_of
from tracejury_collector.store.migrate import migrate
from tracejury_collector.store.opening import (
    CATALOG,
    check_usable,
    is_damage,
    log_files,
    open_database,
    refuse_for_another_reason,
    set_aside,
    sync,
)

_log = logging.getLogger(__name__)

_WITNESS = struct.Struct(">QQQ")
_WITNESS_OF_OLD = struct.Struct(">Q")
_LEAVE_S = 5.0
_OPENING_S = 2.0
_LEAVE_TO_SWAP_S = 0.5  # nothing is stored meanwhile
_LEAVE_TO_RENEW_S = 0.5
_READ_GROWTH = 4  # times the memory of the settings, at most, for a trace that must be read
_UNREADABLE = (duckdb.FatalException, duckdb.IOException, duckdb.SerializationException)
_SHORTAGES = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)


@dataclass(frozen=True, kw_only=True)
class Witnessed:
    """A commit: its number, and how many records all commits up to it have stored."""

    commit_id: int = 0
    spans: int = 0
    logs: int = 0

    def beyond(self, other: Witnessed) -> Witnessed:
        """Return by how much this is more than the other."""
        return Witnessed(
            commit_id=max(0, self.commit_id - other.commit_id),
            spans=max(0, self.spans - other.spans),
            logs=max(0, self.logs - other.logs),
        )


class Instance:
    """The instance that all connections of this process share."""

    def __init__(self, path: str, settings: StorageSettings) -> None:
        self.path = path
        self._settings = settings
        self._most_memory = settings.address_space // 2
        self._most_memory_to_read = settings.memory * _READ_GROWTH
        self._changed = threading.Condition()
        self._cursors: set[duckdb.DuckDBPyConnection] = set()
        self._root: duckdb.DuckDBPyConnection | None = None
        check_usable(path)
        refuse_foreign(path)
        self._witness = _open_witness(witness_of(path))
        try:
            self._open()
        except BaseException:
            os.close(self._witness)
            raise

    def _open(self) -> None:
        try:
            root = self._migrated()
        except duckdb.Error as error:
            refuse_for_another_reason(self.path, error)
            self._set_aside(error)
            root = self._migrated()
        with self._changed:
            self._root = root
            self._changed.notify_all()

    def _migrated(self) -> duckdb.DuckDBPyConnection:
        root = self._connected()
        try:
            migrate(root)
            _last_commit(root, self.path)
        except BaseException:
            root.close()
            raise
        return root

    def start_afresh(self, reason: BaseException) -> None:
        """Set the file aside that does not give back what was written, and start an empty one."""
        self._let_go(_LEAVE_S)
        self._set_aside(reason)
        self._open()

    def _set_aside(self, reason: BaseException) -> None:
        set_aside([*log_files(self.path), self.path], reason)

    def _connected(self) -> duckdb.DuckDBPyConnection:
        while True:
            try:
                return open_database(self.path, self._settings)
            except ShortOfMemory:
                if not self.grow():
                    raise

    @property
    def may_grow_to_read(self) -> bool:
        """Whether a read that had too little memory may ask for more."""
        return self._settings.memory < self._most_memory_to_read

    def grow(self) -> bool:
        """Allow twice the memory from the next opening on; False when that is too much.

        DuckDB keeps 2048 values of a column together when it reads or checkpoints them: what was
        acknowledged must not become unreadable because its neighbors are large too.
        """
        memory = self._settings.memory * 2
        if memory > self._most_memory:
            return False
        self._settings = self._settings.model_copy(update={"memory": memory})
        _log.warning("%s: large values; its memory limit is now %d MiB", self.path, memory >> 20)
        return True

    @property
    def root(self) -> duckdb.DuckDBPyConnection:
        """Return the writer's connection.

        Raises: Unavailable while there is none.
        """
        if self._root is None:
            raise Unavailable("the database is not open; try again soon")
        return self._root

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor that is closed after; see `Database.read`.

        A file that is being opened anew is waited for.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._root is not None, timeout=_OPENING_S)
            cursor = self.root.cursor()
            cursor.execute(f"USE {CATALOG}")
            self._cursors.add(cursor)
        try:
            yield cursor
        except _UNREADABLE as error:
            kind = Damaged if is_damage(error) else Unavailable
            raise kind(f"the database cannot be read now: {error}") from error
        finally:
            with self._changed:
                cursor.close()
                self._cursors.discard(cursor)
                self._changed.notify_all()

    def reopen(self) -> None:
        """Open the file anew, after all cursors were taken from their readers.

        Raises: ConfigError or Unavailable when that does not work now.
        """
        self._let_go(_LEAVE_S)
        self._open()

    def renew(self) -> bool:
        """Open the file anew at a moment without readers; False where some take their time.

        Raises: as `reopen`.
        """
        with contextlib.suppress(duckdb.Error):  # what closing would do while readers wait
            self.checkpoint()
        with self._changed:
            root, self._root = self._root, None
            if not self._changed.wait_for(lambda: not self._cursors, timeout=_LEAVE_TO_RENEW_S):
                self._root = root
                self._changed.notify_all()
                return False
            if root is not None:
                root.close()
        self._open()
        return True

    def swap(self, path: str) -> None:
        """Put the database in file `path`, which is closed, in the place of this one.

        Whoever is killed on the way finds one of the two whole: the log of the old one is taken in
        before.

        Raises: CopyFailed when the old one cannot be closed; then it stays.
        """
        self._let_go(_LEAVE_TO_SWAP_S)
        try:
            if log_files(self.path):
                raise CopyFailed(f"{self.path!r} did not take in its log; it stays as it is")
            Path(path).replace(self.path)
            sync(self.path)
        finally:
            self._open()

    def _let_go(self, patience_s: float) -> None:
        """Close the instance, after all cursors were taken from their readers."""
        with self._changed:
            root, self._root = self._root, None
            for cursor in self._cursors:
                cursor.interrupt()
            if not self._changed.wait_for(lambda: not self._cursors, timeout=patience_s):
                for cursor in self._cursors:
                    cursor.close()
            if root is not None:
                root.close()

    def roll_back(self) -> bool:
        """Roll the writer's transaction back, if one is open; False when the database is dead."""
        if self._root is None:
            return False
        try:
            self._root.execute("ROLLBACK")
        except duckdb.TransactionException:
            pass
        except duckdb.Error:
            return False
        try:
            self.last_commit()
        except duckdb.Error:
            return False
        return True

    def check_room(self) -> None:
        """Raise Unavailable when the disk is too full to write."""
        check_room(self.path)

    def last_commit(self) -> tuple[int, str]:
        """Return (number of the last commit, counters as JSON) as they stand on disk."""
        return _last_commit(self.root, self.path)

    def witness(self, commit: Witnessed) -> None:
        """Note outside the database what was answered, so that a loss can be seen."""
        os.pwrite(self._witness, _WITNESS.pack(commit.commit_id, commit.spans, commit.logs), 0)

    def loss(self, found: Witnessed) -> Witnessed:
        """Return what was answered and is not in the database that was found."""
        noted = os.pread(self._witness, _WITNESS.size, 0)
        lost = _unpacked(noted).beyond(found)
        if lost.commit_id:
            _log.critical(
                "%s: the last %d acknowledged commits are missing (found %d), with %d spans and "
                "%d log records: the database or its write-ahead log was damaged or replaced",
                self.path,
                lost.commit_id,
                found.commit_id,
                lost.spans,
                lost.logs,
            )
        return lost

    def checkpoint(self) -> None:
        """Write what is in the log into the file.

        Raises: Unavailable; duckdb.Error when that does not work now.
        """
        self.root.execute("CHECKPOINT")

    def close(self) -> None:
        """Checkpoint and close; readers that are still busy are interrupted."""
        with self._changed:
            root, self._root = self._root, None
            for cursor in self._cursors:
                cursor.interrupt()
            self._changed.wait_for(lambda: not self._cursors, timeout=_LEAVE_S)
        if root is not None:
            started = time.monotonic()
            try:
                root.execute("CHECKPOINT")
            except duckdb.Error as error:
                _log.warning("%s: no checkpoint on closing: %s", self.path, error)
            root.close()
            _log.info("%s: closed in %.2f s", self.path, time.monotonic() - started)
        os.close(self._witness)


def _last_commit(root: duckdb.DuckDBPyConnection, path: str) -> tuple[int, str]:
    row = root.execute("SELECT commit_id, counters FROM base.ledger").fetchone()
    if row is None:
        raise ConfigError(f"{path!r}: base.ledger is empty; the file was changed by hand")
    return row[0], row[1]


def _unpacked(noted: bytes) -> Witnessed:
    """Return what was noted; earlier releases noted the number of the commit alone."""
    if len(noted) == _WITNESS.size:
        commit_id, spans, logs = _WITNESS.unpack(noted)
        return Witnessed(commit_id=commit_id, spans=spans, logs=logs)
    if len(noted) == _WITNESS_OF_OLD.size:
        return Witnessed(commit_id=_WITNESS_OF_OLD.unpack(noted)[0])
    return Witnessed()


def _open_witness(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno in _SHORTAGES:
            raise Unavailable(f"cannot open {path!r} now: {error}") from error
        raise ConfigError(
            f"cannot write beside the database: {error}; set `storage` to a writable directory"
        ) from error
