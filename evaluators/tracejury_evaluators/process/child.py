"""Running a command under a guard: fed, drained and bounded, and gone when this returns."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

GUARD = Path(__file__).with_name("guard.py")
STDERR_BYTES = 8_192
GRACE_S = 2.0
"""How long the guard may take to end what it guards before it is killed itself."""

_CHUNK_BYTES = 1 << 16

Ending = Literal["exit", "signal", "error", "timeout", "flood", "lost"]

TOLD: tuple[Ending, ...] = ("exit", "signal", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run: `argv` with the program's full path, in a folder, with limits."""

    argv: Sequence[str]
    cwd: str | None
    environment: Mapping[str, str]
    timeout_s: float
    memory_bytes: int
    max_output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended and what it wrote.

    `detail` is the exit code or signal number as text, or why it could not be started; `stderr`
    holds the last bytes. "flood" means that it wrote too much, "lost" that its guard was killed.
    """

    how: Ending
    detail: str
    stdout: bytes
    stderr: bytes


def run_command(command: Command, given: bytes) -> Ended:
    """Run a command on `given`, its standard input, until it ends or has to be ended.

    Raises: OSError where no process can be started at all.
    """
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            guard = _start(command, theirs)
        with guard, _Streams(guard, ours, command, given) as streams:
            how = streams.run()
            if how is None:
                with contextlib.suppress(OSError):
                    guard.wait(GRACE_S)
            ours.close()
            _end(guard)
    told, detail = _told(streams.said)
    return Ended(
        how=how or told,
        detail=detail,
        stdout=bytes(streams.stdout),
        stderr=bytes(streams.stderr),
    )


def _told(said: bytes) -> tuple[Ending, str]:
    """What the guard said first."""
    word, _, detail = said.partition(b"\n")[0].decode("utf-8", "replace").partition(" ")
    for known in TOLD:
        if word == known:
            return known, detail
    return "lost", ""


def _start(command: Command, theirs: socket.socket) -> subprocess.Popen[bytes]:
    guard = [sys.executable, "-I", "-S", str(GUARD), str(theirs.fileno())]
    return subprocess.Popen(
        [*guard, str(command.memory_bytes), *command.argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=command.cwd,
        env=dict(command.environment),
        pass_fds=[theirs.fileno()],
        start_new_session=True,
        bufsize=0,
    )


def _end(guard: subprocess.Popen[bytes]) -> None:
    """Wait for the guard, which ends once its socket is closed; kill it if it does not."""
    try:
        guard.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(guard.pid, signal.SIGKILL)
        guard.wait()


class _Streams:
    """The pipes of a running guard, served by one thread."""

    def __init__(
        self, guard: subprocess.Popen[bytes], ours: socket.socket, command: Command, given: bytes
    ) -> None:
        self.stdout, self.stderr, self.said = bytearray(), bytearray(), b""
        self._guard = guard
        self._command = command
        self._left = memoryview(given)
        self._deadline_s = time.monotonic() + command.timeout_s
        self._selector = selectors.DefaultSelector()
        self._reading = {_out(guard.stdout).fileno(), _out(guard.stderr).fileno(), ours.fileno()}
        self._said_from = ours.fileno()
        for number in self._reading:
            os.set_blocking(number, False)
            self._selector.register(number, selectors.EVENT_READ)
        self._writing = _out(guard.stdin)
        os.set_blocking(self._writing.fileno(), False)
        self._selector.register(self._writing, selectors.EVENT_WRITE)

    def __enter__(self) -> _Streams:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def run(self) -> Ending | None:
        """Serve the pipes until all have ended; or say why the command has to be ended."""
        while self._reading:
            left_s = self._deadline_s - time.monotonic()
            if left_s <= 0:
                return "timeout"
            for key, mask in self._selector.select(left_s):
                if mask & selectors.EVENT_WRITE:
                    self._write()
                else:
                    self._read(key.fd)
            if len(self.stdout) > self._command.max_output_bytes:
                return "flood"
        return None

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._writing.fileno(), self._left[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return
        except OSError:  # it does not read its input, which is its own affair
            self._left = self._left[:0]
        if not self._left:
            self._selector.unregister(self._writing)
            self._writing.close()

    def _read(self, number: int) -> None:
        try:
            data = os.read(number, _CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(number)
            self._reading.discard(number)
        elif number == self._said_from:
            self.said += data
        elif number == _out(self._guard.stdout).fileno():
            self.stdout += data
        else:
            self.stderr += data
            del self.stderr[:-STDERR_BYTES]


def _out(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
