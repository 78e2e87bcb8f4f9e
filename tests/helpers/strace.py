"""What processes ask of the system, in order, as strace sees it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.service import eventually

_CALLS = "write,pwrite64,writev,pwritev,fsync,fdatasync,sendto,sendmsg"
_MOST_BYTES = 65536
_LINE = re.compile(r"(?:\[pid +)?(\d+)\]? +(.*)")
_STARTED = re.compile(r"(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)")
_CALL = re.compile(r"(\w+)\(\d+<(.*?)>(?:,|\))(.*)", re.DOTALL)
_HEX = re.compile(rb"\\x([0-9a-f]{2})")


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call that has returned: its name, the file or socket it is about, and what it wrote."""

    name: str
    target: str
    data: bytes

    @property
    def is_sync(self) -> bool:
        """Whether it waits for the disk."""
        return self.name in ("fsync", "fdatasync")


@contextlib.contextmanager
def traced(pids: Sequence[int], output: Path) -> Iterator[None]:
    """Watch the processes and all of their threads inside the block; skips where nobody may."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed here, and this test needs it")
    attach = [argument for pid in pids for argument in ("-p", str(pid))]
    command = [strace, "-f", "-yy", "-xx", "-s", str(_MOST_BYTES), "-e", f"trace={_CALLS}"]
    errors = output.with_suffix(".err")
    with errors.open("w") as said:
        process = subprocess.Popen([*command, "-o", str(output), *attach], stderr=said)
    try:
        eventually(
            lambda: (
                process.poll() is not None or errors.read_text().count(" attached") >= len(pids)
            ),
            "strace is attached",
        )
        if process.poll() is not None:
            pytest.skip(f"processes may not be traced here: {errors.read_text().strip()[:200]}")
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def allow_tracing() -> None:
    """Let a child of this process trace it, where the system asks for that."""
    pr_set_ptracer, anybody = 0x59616D61, -1
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(pr_set_ptracer, anybody, 0, 0, 0)


def calls(output: Path) -> list[Call]:
    """Return the calls in the order in which they returned.

    What a call wrote is given to the line of its start, what it came to to that of its end.
    """
    found, started = [], {}
    for line in output.read_text(errors="replace").splitlines():
        pid, text = _split(line)
        if begun := _STARTED.fullmatch(text):
            started[pid] = f"{begun[1]}({begun[2]}"
            continue
        if resumed := _RESUMED.match(text):
            text = started.pop(pid, "") + resumed[2]
        if parsed := _CALL.match(text):
            data = "".join(re.findall(r'"([^"]*)"', parsed[3]))
            target = _bytes(parsed[2]).decode(errors="replace")
            found.append(Call(name=parsed[1], target=target, data=_bytes(data)))
    return found


def _split(line: str) -> tuple[int, str]:
    match = _LINE.match(line)
    return (int(match[1]), match[2]) if match else (os.getpid(), line)


def _bytes(text: str) -> bytes:
    return _HEX.sub(lambda m: bytes.fromhex(m[1].decode()), text.encode())
