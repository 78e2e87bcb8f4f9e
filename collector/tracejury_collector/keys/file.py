"""The file that keys are kept in: JSON, for its owner alone, replaced as a whole."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tracejury_collector.errors import ConfigError
from tracejury_collector.keys.model import Key

MAX_KEYS = 10_000
_MAX_BYTES = 16 << 20
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

Keys = tuple[Key, ...]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    keys: Annotated[Keys, Field(max_length=MAX_KEYS)] = ()

    @model_validator(mode="after")
    def _has_each_id_once(self) -> Self:
        if len({key.id for key in self.keys}) < len(self.keys):
            raise ValueError("two keys have one id")
        return self


def read_keys(path: Path) -> Keys:
    """Return the keys in the file, in the order in which they were made; none without a file.

    Raises: ConfigError where it cannot be read, or others than its owner can write it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _unreadable(path, error) from error
    with os.fdopen(descriptor, "rb") as file:
        _refuse_writable_by_others(path, os.fstat(file.fileno()).st_mode)
        try:
            text = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise _unreadable(path, error) from error
    try:
        return _Document.model_validate_json(text).keys
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(
            f"keys: {str(path)!r} is no file of keys ({place}: {first['msg']}); "
            "restore it from a backup, or move it away and make new keys"
        ) from error


def change_keys(path: Path, change: Callable[[Keys], Keys]) -> Keys:
    """Write what `change` makes of the keys in the file, and return it.

    Who changes the file at the same time waits; who reads it sees the old one or the new one.

    Raises: ConfigError where the file cannot be read or written.
    """
    path = Path(os.path.realpath(path))
    with _alone_in(path.parent):
        keys = change(read_keys(path))
        if len(keys) > MAX_KEYS:
            raise ConfigError(f"keys: {str(path)!r} holds {MAX_KEYS} keys; use another file")
        try:
            _replace(path, _Document(keys=keys).model_dump_json(indent=1).encode() + b"\n")
        except OSError as error:
            raise ConfigError(f"keys: cannot write {str(path)!r}: {error}") from error
    return keys


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder, which needs no file of its own."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(
            f"keys: cannot use the folder {str(folder)!r}: {error}; create it, or set keys.file"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(path: Path, content: bytes) -> None:
    """Replace the file; it stays that of its owner when another user, such as root, does so."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            if os.geteuid() == 0:
                owner = (path if path.exists() else path.parent).stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _refuse_writable_by_others(path: Path, mode: int) -> None:
    if mode & _WRITABLE_BY_OTHERS:
        raise ConfigError(
            f"keys: others than its owner can write {str(path)!r} and let themselves in; "
            f"chmod 600 {path}"
        )


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"keys: cannot read {str(path)!r}: {error.strerror or error}; "
        "let the user that runs the service own it"
    )
