"""Opening the database file, or a fresh one in place of a damaged one."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import duckdb

from tracejury_collector import files
from tracejury_collector.config import StorageSettings
from tracejury_collector.errors import ConfigError, Damaged, InUse, ShortOfMemory, Unavailable
from tracejury_collector.files import ASIDE, aside_name

_log = logging.getLogger(__name__)

CATALOG = "tracejury"
"""The database's name inside DuckDB; each new connection has to `USE` it."""

_ATTACH_OPTIONS = "STORAGE_VERSION 'v1.5.0', ROW_GROUP_SIZE 8192"
# A checkpoint writes the last row group again: small ones keep its pause short.

_SETTINGS = (
    f"USE {CATALOG}",
    "SET TimeZone = 'UTC'",
    "SET enable_progress_bar = false",
    # Of the newest rows only the order is read first, for pages of up to 1,000, not of 50 alone.
    "SET late_materialization_max_rows = 1001",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_NEWER = "we can only read version"
_LOCKED = "Could not set lock on file"
_STARVED = ("failed to pin block", "failed to allocate data", "could not allocate block")
_DAMAGED = (
    "Corrupt database file",
    "Could not read enough bytes",
    "Failed to deserialize",
    "Serialization Error",
)
_BUSY = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "Input/output error",
    "Too many open files",
    "Cannot allocate memory",
)


def open_database(path: str, settings: StorageSettings) -> duckdb.DuckDBPyConnection:
    """Return a connection to the database in file `path`, created when missing.

    A write-ahead log or a file that does not open is renamed, and the service starts without it.

    Raises: ConfigError when the file cannot be used at all; Unavailable when the machine is short
    of something.
    """
    damage = _try(path, settings)
    if isinstance(damage, duckdb.DuckDBPyConnection):
        return damage
    logs = log_files(path)
    if logs:
        set_aside(logs, damage)
        again = _try(path, settings)
        if isinstance(again, duckdb.DuckDBPyConnection):
            return again
        damage = again
    set_aside([path], damage)
    fresh = _try(path, settings)
    if isinstance(fresh, duckdb.DuckDBPyConnection):
        return fresh
    raise ConfigError(f"cannot create the database {path!r}: {fresh}") from fresh


def is_starved(error: BaseException) -> bool:
    """Say whether DuckDB failed at its memory limit; large values that lie together do that."""
    starved = isinstance(error, duckdb.OutOfMemoryException)
    return starved or any(sign in str(error) for sign in _STARVED)


def _try(path: str, settings: StorageSettings) -> duckdb.DuckDBPyConnection | duckdb.Error:
    """Return the open connection, or the error that says that the file is damaged."""
    try:
        return _connect(path, settings)
    except duckdb.Error as error:
        refuse_for_another_reason(path, error)
        return error


def refuse_for_another_reason(path: str, error: duckdb.Error) -> None:
    """Raise what keeps the file from being opened; return where that can only be damage.

    Raises: ConfigError, InUse, Unavailable or ShortOfMemory.
    """
    text = str(error)
    if _LOCKED in text:
        raise InUse(
            f"the database {path!r} is open in another process; stop that one, "
            "or use another file (setting `storage`)"
        ) from error
    if _NEWER in text:
        raise ConfigError(f"the database {path!r} was written by a newer DuckDB: {text}") from error
    if is_starved(error):
        raise ShortOfMemory(f"cannot open the database {path!r} now: {text}") from error
    if any(s in text for s in _BUSY):
        raise Unavailable(f"cannot open the database {path!r} now: {text}") from error


def is_damage(error: BaseException) -> bool:
    """Say whether DuckDB found that what it read is not what it had written."""
    found = isinstance(error, duckdb.Error) and any(sign in str(error) for sign in _DAMAGED)
    return found or isinstance(error, Damaged)


def _connect(path: str, settings: StorageSettings) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{settings.memory}B",
            "threads": settings.threads,
            "wal_autocheckpoint": f"{settings.checkpoint_wal}B",
            "temp_directory": f"{path}.tmp",
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
        },
    )
    try:
        quoted = path.replace("'", "''")
        connection.execute(f"ATTACH '{quoted}' AS {CATALOG} ({_ATTACH_OPTIONS})")
        for sql in _SETTINGS:
            connection.execute(sql)
    except duckdb.Error:
        connection.close()
        raise
    return connection


def check_usable(path: str) -> None:
    """Raise ConfigError when there is no way to write the file `path`."""
    file = Path(path)
    try:
        directory = file.absolute().parent
        if file.exists():
            file.open("r+b").close()
        elif not directory.exists():
            raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(directory))
        elif not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "cannot create a file", str(directory))
    except OSError as error:
        raise ConfigError(
            f"cannot use the database {path!r}: {error}; set `storage` to a writable file"
        ) from error


def log_files(path: str) -> list[str]:
    """Return the write-ahead logs that lie beside the database file."""
    file = Path(path)
    names = (entry.name for entry in file.absolute().parent.iterdir())
    return [
        str(file.parent / name)
        for name in sorted(names)
        if name.startswith(f"{file.name}.") and name.endswith("wal")
    ]


def sync(path: str) -> None:
    """Have the file, and its name, written to the disk."""
    for name in (path, Path(path).absolute().parent):
        files.sync(name)


def set_aside(paths: Sequence[str], reason: BaseException) -> None:
    """Rename the files, so that they are kept and nobody opens them."""
    for path in filter(os.path.exists, paths):
        target = Path(path).rename(aside_name(path))
        _log.critical("%s does not open and was set aside as %s: %s", path, target, reason)


def files_aside(path: str) -> list[str]:
    """Return the names of the files that were set aside beside the database file."""
    file = Path(path)
    names = (entry.name for entry in file.absolute().parent.iterdir())
    return sorted(name for name in names if name.startswith(file.name) and ASIDE in name)
