"""What a forkserver of the tests imports, and what its forks do."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence

from tracejury_collector.status import READY, tell

prepared_in: list[int] = []


def prepare() -> None:
    """Import for forks."""
    prepared_in.append(os.getpid())


def start_thread() -> None:
    """Do what a forkserver must not."""
    threading.Thread(target=threading.Event().wait, daemon=True).start()


def open_fds() -> list[int]:
    """Return the descriptors of this process."""
    return [fd for fd in range(1024) if _is_open(fd)]


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def main(argv: Sequence[str]) -> int:
    """Append to the file `argv[0]` what this process is; end with the code that its input says."""
    found = {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "prepared_in": prepared_in,
        "fds": open_fds(),
        "environ": sorted(os.environ),
        "arguments": sys.argv[1:],
        "title": open("/proc/self/cmdline").read(),  # noqa: SIM115
    }
    with open(argv[0], "a") as file:
        file.write(json.dumps(found) + "\n")
    tell(READY)
    return int(sys.stdin.readline())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
