"""Named points at which a test can have a process die, as if killed there by chance.

Nothing ever happens unless the environment named a folder when the process started. Then the
first process that reaches a point takes the file of its name out of the folder and kills itself:
at once, or after as many milliseconds as the file says. At some points a process dies of what it
has at hand, for as long as the file is there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

VARIABLE = "TRACEJURY_FAILPOINTS"

_named = os.environ.get(VARIABLE)
FOLDER = Path(_named) if _named else None
"""Where the files of armed points are; None: no point can be armed in this process."""


def reach(name: str, last_act: Callable[[], object] = lambda: None) -> None:
    """Die here if the point is armed, after `last_act`."""
    if FOLDER is not None:
        _die_if_armed(FOLDER / name, last_act)


def reach_with(name: str, holds: Callable[[str], bool]) -> None:
    """Die here, time and again, while the point is armed and what is at hand holds what its file
    says."""
    if FOLDER is not None:
        with contextlib.suppress(FileNotFoundError):
            if holds((FOLDER / name).read_text()):
                _die()


def _die_if_armed(file: Path, last_act: Callable[[], object]) -> None:
    try:
        delay_ms = float(file.read_text() or 0)
        file.rename(file.with_name(f"{file.name}.{os.getpid()}"))  # of several processes one dies
    except FileNotFoundError:
        return
    last_act()
    if delay_ms:
        threading.Timer(delay_ms / 1000, _die).start()
    else:
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
