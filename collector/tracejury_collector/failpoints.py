"""Named points at which a test can have a process die, as if killed there by chance.

Nothing ever happens unless the environment named a folder when the process started. Then the
first process that reaches a point takes the file of its name out of the folder and kills itself:
at once, or after as many milliseconds as the file says.
"""

from __future__ import annotations

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
