"""Files that have to outlive a crash: synced with their names, and kept when they are damaged."""

from __future__ import annotations

import os
import time
from pathlib import Path

ASIDE = ".damaged-"
"""Between the name of a file that was set aside and when that was."""


def sync(path: str | Path) -> None:
    """Have the file, or folder, written to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def aside_name(path: str | Path) -> Path:
    """Return the name under which what is damaged of `path` is kept, one that is free."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    plain = Path(f"{path}{ASIDE}{stamp}")
    names = [plain, *(plain.with_name(f"{plain.name}-{number}") for number in range(2, 1000))]
    return next((name for name in names if not name.exists()), names[-1])
