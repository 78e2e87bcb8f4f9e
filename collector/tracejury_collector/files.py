"""Files that have to outlive a crash: synced with their names, and kept when they are damaged."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import time
from pathlib import Path
from typing import BinaryIO

from tracejury_collector.errors import Unavailable

MIN_FREE_BYTES = 64 << 20
"""Below this much free space nothing is written any more; reads go on."""

ASIDE = ".damaged-"
"""Between the name of a file that was set aside and when that was."""


def sync(path: str | Path) -> None:
    """Have the file, or folder, written to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def folder_bytes(path: Path) -> int:
    """Return the size of the files in a folder, which may come and go; 0 where there is none."""
    total = 0
    for file in path.glob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


def check_room(path: str | Path) -> None:
    """Raise Unavailable when the disk is too full to write beside `path`."""
    free = shutil.disk_usage(Path(path).absolute().parent).free
    if free < MIN_FREE_BYTES:
        raise Unavailable(
            f"only {free >> 20} MiB are free beside {str(path)!r}; "
            f"nothing is stored below {MIN_FREE_BYTES >> 20} MiB"
        )


def keep_aside(path: str | Path, data: bytes) -> Path:
    """Write what is set aside of `path` beside it, whole or not at all; return where it is.

    Raises: OSError where the disk does not take it.
    """
    file = _created(path)
    target = Path(file.name)
    try:
        with file:
            file.write(data)
        sync(target)
    except OSError:
        target.unlink(missing_ok=True)
        raise
    sync(target.absolute().parent)
    return target


def _created(path: str | Path) -> BinaryIO:
    """Return a new file for what is set aside, which no other process has taken."""
    while True:
        with contextlib.suppress(FileExistsError):
            return aside_name(path).open("xb")


def aside_name(path: str | Path) -> Path:
    """Return the name under which what is damaged of `path` is kept, one that is free."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    plain = Path(f"{path}{ASIDE}{stamp}")
    others = (plain.with_name(f"{plain.name}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain([plain], others) if not name.exists())
