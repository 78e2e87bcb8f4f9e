"""What a child tells the supervisor, over a pipe whose number stands in its environment."""

from __future__ import annotations

import contextlib
import os

STATUS_FD_VARIABLE = "TRACEJURY_STATUS_FD"
CANNOT_START = 2  # exit code of a child that no restart can help
STATUS_BYTES = 4096  # of what a child says at once
READY = b"ready\n"
BORN = b"born "
"""Before its process id: what a fork says first, whose parent is told no other way."""


def tell(words: bytes) -> None:
    """Tell the supervisor `words`, if it still listens."""
    with contextlib.suppress(BrokenPipeError):
        os.write(int(os.environ[STATUS_FD_VARIABLE]), words[:STATUS_BYTES])
