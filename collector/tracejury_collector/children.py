"""A process that the supervisor keeps alive: how it is started, heard, and buried."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracejury_collector.forkserver import Order, send_order
from tracejury_collector.status import BORN, READY, STATUS_BYTES, STATUS_FD_VARIABLE

log = logging.getLogger("tracejury.supervisor")

YOUNG_S = 5.0  # a child that lived longer is restarted at once
RESTART_DELAY_S = 0.1  # after a young death; doubles with each one
RESTART_DELAY_MAX_S = 2.0
_LOST = -signal.SIGKILL
"""Exit code of a process that nobody saw end."""
_POLL_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """That a child is forked: by the forkserver of this name, to run MODULE:FUNCTION."""

    server: str
    call: str
    args: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """One process to keep alive.

    `environ` is the whole environment it starts with. `settings` is one line that the child reads
    from its standard input, which stays open for as long as the supervisor lives; a forkserver
    gets orders there instead. Low `stage`s are drained first, each within `drain_s`. `argv` starts
    the process where it cannot be forked.
    """

    name: str
    argv: Sequence[str]
    settings: bytes
    environ: Mapping[str, str]
    fork: Fork | None = None
    serves: bool = False
    fds: tuple[int, ...] = ()
    stage: int = 0
    drain_s: float = 4.0


class _Forked:
    """A process that a forkserver makes; it is our child once it has said its id."""

    def __init__(self) -> None:
        self.pid = 0
        self._code: int | None = None

    def hear(self, word: bytes) -> None:
        """Take in what it says of its birth."""
        self.pid = int(word.removeprefix(BORN))

    def miss(self) -> None:
        """Take in that it will say nothing more."""
        if not self.pid:
            self._code = _LOST

    def poll(self) -> int | None:
        """Return the exit code, None while it lives."""
        if self._code is None and self.pid:
            try:
                found, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._code = _LOST
            else:
                self._code = os.waitstatus_to_exitcode(status) if found else None
        return self._code


class Child:
    """A child, alive or waiting for its restart."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.status_fd = -1
        self.is_running = False
        self.ready = False
        self.ever_ready = False
        self.restart_at_s = 0.0
        self.complaint = ""
        self.orders: socket.socket | None = None
        """Where a forkserver takes them."""
        self._input = -1
        self._process: subprocess.Popen[bytes] | _Forked | None = None
        self._started_s = 0.0
        self._young_deaths = 0

    @property
    def pid(self) -> int:
        """Its process id; 0 while it has none."""
        return self._process.pid if self._process is not None else 0

    def start(self, server: socket.socket | None) -> None:
        """Start the process and hand it its settings; a forkserver that is given makes it."""
        self.ready = False
        self._started_s = time.monotonic()
        self.status_fd, told = os.pipe()
        os.set_blocking(self.status_fd, False)
        theirs = self._open_input()
        try:
            self._process = self._made(server, theirs, told)
        finally:
            os.close(theirs)
            os.close(told)
        self.is_running = True
        if self.spec.settings:
            with (
                contextlib.suppress(BrokenPipeError),
                open(self._input, "wb", closefd=False) as file,
            ):
                file.write(self.spec.settings + b"\n")
        log.info("started %s", self.spec.name)

    def _open_input(self) -> int:
        """Open its standard input; return the end that it gets."""
        if self.spec.serves:
            self.orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._input = self.orders.fileno()
            return theirs.detach()
        theirs_fd, self._input = os.pipe()
        return theirs_fd

    def _made(
        self, server: socket.socket | None, input_fd: int, told: int
    ) -> subprocess.Popen[bytes] | _Forked:
        if server is None or self.spec.fork is None:
            return subprocess.Popen(
                self.spec.argv,
                stdin=input_fd,
                pass_fds=(*self.spec.fds, told),
                env={**self.spec.environ, STATUS_FD_VARIABLE: str(told)},
                start_new_session=True,
            )
        made = _Forked()
        fds = (*self.spec.fds, told)
        fork = self.spec.fork
        order = Order(
            name=self.spec.name, call=fork.call, args=fork.args, fds=(0, *fds), status_fd=told
        )
        with contextlib.suppress(OSError):  # it is gone; so we shall miss what it was to make
            send_order(server, order, (input_fd, *fds))
        return made

    def hear(self) -> bool:
        """Take in that the child is ready, or why it gives up; False if it says nothing more."""
        try:
            said = os.read(self.status_fd, STATUS_BYTES)
        except BlockingIOError:
            return True
        for line in said.splitlines(keepends=True):
            self._take(line)
        if not said and isinstance(self._process, _Forked):
            self._process.miss()
        return bool(said)

    def _take(self, line: bytes) -> None:
        if line == READY:
            self.ready = self.ever_ready = True
            took_s = time.monotonic() - self._started_s
            log.info("%s (pid %d) is ready after %.1f s", self.spec.name, self.pid, took_s)
        elif line.startswith(BORN) and isinstance(self._process, _Forked):
            self._process.hear(line)
        else:
            self.complaint = line.decode(errors="replace")

    def buried(self) -> int | None:
        """Return the exit code if the process has died, and plan its restart."""
        if self._process is None or (code := self._process.poll()) is None:
            return None
        self.hear()
        self._close()
        self.kill()
        self._process = None
        self.ready = self.is_running = False
        lived_s = time.monotonic() - self._started_s
        self._young_deaths = self._young_deaths + 1 if lived_s < YOUNG_S else 0
        delay_s = 0.0
        if self._young_deaths > 1:
            delay_s = min(RESTART_DELAY_S * 2.0 ** (self._young_deaths - 2), RESTART_DELAY_MAX_S)
        self.restart_at_s = time.monotonic() + delay_s
        return code

    def _close(self) -> None:
        os.close(self.status_fd)
        if self.orders is not None:
            self.orders.close()
            self.orders = None
        else:
            os.close(self._input)

    def terminate(self) -> None:
        """Ask the process to drain, if it lives."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process and whatever it started: it leads a process group of its own."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def await_end(self, deadline_s: float) -> int | None:
        """Wait until the process has ended, and kill it if it has not in time.

        Return its exit code; None where it was not born yet, and will end when it finds its input
        closed.
        """
        killed = False
        while self.is_running:
            self.hear()
            if (code := self.buried()) is not None:
                return code
            if time.monotonic() > deadline_s and not killed:
                if not self.pid:
                    return None
                log.warning("%s did not stop in time; killing it", self.spec.name)
                self.kill()
                killed = True
            time.sleep(_POLL_S)
        return None
