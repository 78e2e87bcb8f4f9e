"""The parent of the service's processes: starts them, restarts what dies, drains them in order."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

log = logging.getLogger("tracejury.supervisor")

STATUS_FD_VARIABLE = "TRACEJURY_STATUS_FD"
STATUS_BYTES = 4096  # of what a child says at once
READY = b"ready\n"
CANNOT_START = 2  # exit code of a child that no restart can help
YOUNG_S = 5.0  # a child that lived longer is restarted at once
RESTART_DELAY_S = 0.1  # after a young death; doubles with each one
RESTART_DELAY_MAX_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """One process to keep alive.

    `environ` is the whole environment it starts with. `settings` is one line that the child reads
    from its standard input, which stays open for as long as the supervisor lives. Low `stage`s are
    drained first, each within `drain_s`.
    """

    name: str
    argv: Sequence[str]
    settings: bytes
    environ: Mapping[str, str]
    fds: tuple[int, ...] = ()
    stage: int = 0
    drain_s: float = 4.0


class _Child:
    """A child, alive or waiting for its restart."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.process: subprocess.Popen[bytes] | None = None
        self.status_fd = -1
        self.ready = False
        self.ever_ready = False
        self.started_s = 0.0
        self.restart_at_s = 0.0
        self.complaint = ""
        self._young_deaths = 0

    def start(self) -> None:
        """Start the process and hand it its settings."""
        self.status_fd, write_fd = os.pipe()
        os.set_blocking(self.status_fd, False)
        environ = {**self.spec.environ, STATUS_FD_VARIABLE: str(write_fd)}
        self.process = subprocess.Popen(
            self.spec.argv,
            stdin=subprocess.PIPE,
            pass_fds=(*self.spec.fds, write_fd),
            env=environ,
            start_new_session=True,
        )
        os.close(write_fd)
        self.ready = False
        self.started_s = time.monotonic()
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(self.spec.settings + b"\n")
            self.process.stdin.flush()
        log.info("started %s (pid %d)", self.spec.name, self.process.pid)

    def hear(self) -> bool:
        """Take in that the child is ready, or why it gives up; False if it says nothing more."""
        with contextlib.suppress(BlockingIOError):
            said = os.read(self.status_fd, STATUS_BYTES)
            if said.startswith(READY):
                self.ready = self.ever_ready = True
                log.info("%s is ready after %.1f s", self.spec.name, _since(self.started_s))
            elif said:
                self.complaint = said.decode(errors="replace")
            return bool(said)
        return True

    def buried(self) -> int | None:
        """Return the exit code if the process has died, and plan its restart."""
        if self.process is None or (code := self.process.poll()) is None:
            return None
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.hear()
        os.close(self.status_fd)
        self.kill_group(self.process.pid)
        self.process = None
        self.ready = False
        lived_s = time.monotonic() - self.started_s
        self._young_deaths = self._young_deaths + 1 if lived_s < YOUNG_S else 0
        delay_s = 0.0
        if self._young_deaths > 1:
            delay_s = min(RESTART_DELAY_S * 2.0 ** (self._young_deaths - 2), RESTART_DELAY_MAX_S)
        self.restart_at_s = time.monotonic() + delay_s
        return code

    def terminate(self) -> None:
        """Ask the process to drain, if it lives."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()

    @staticmethod
    def kill_group(pid: int) -> None:
        """Kill the child and whatever it started: it leads a process group of its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


class Supervisor:
    """Keeps its children alive until SIGTERM or SIGINT, then drains them stage by stage."""

    def __init__(self, specs: Sequence[ChildSpec], on_ready: Callable[[], None]) -> None:
        self._children = [_Child(spec) for spec in specs]
        self._on_ready = on_ready
        self._announced = False
        self._stopping = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Run until told to stop; return the exit code of the service."""
        with _wakeup(self._selector) as drained, self._signals():
            for child in self._children:
                self._start(child)
            while not self._stopping:
                timeout_s = self._next_restart_s()
                for key, _ in self._selector.select(timeout_s):
                    self._on_event(key, drained)
                if (hopeless := self._bury_and_restart()) is not None:
                    self._drain()
                    log.critical("%s cannot start: %s", hopeless.spec.name, hopeless.complaint)
                    return CANNOT_START
            self._drain()
        return 0

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
        previous = {n: signal.signal(n, self._on_signal) for n in numbers}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._stopping = True

    def _start(self, child: _Child) -> None:
        child.start()
        self._selector.register(child.status_fd, selectors.EVENT_READ, child)

    def _on_event(self, key: selectors.SelectorKey, drained: Callable[[], None]) -> None:
        child = key.data
        if child is None:
            drained()
            return
        if not child.hear():
            self._selector.unregister(key.fd)
        if not self._announced and all(c.ready for c in self._children):
            self._announced = True
            self._on_ready()

    def _bury_and_restart(self) -> _Child | None:
        """Restart dead children; return one that no restart can help."""
        for child in self._children:
            fd = child.status_fd
            code = child.buried()
            if code is not None:
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(fd)
                if code == CANNOT_START and not child.ever_ready:
                    return child
                if not self._stopping:
                    log.warning("%s ended with %d; restarting it", child.spec.name, code)
            due = child.process is None and time.monotonic() >= child.restart_at_s
            if due and not self._stopping:
                self._start(child)
        return None

    def _next_restart_s(self) -> float | None:
        waiting = [c.restart_at_s for c in self._children if c.process is None]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    def _drain(self) -> None:
        self._stopping = True
        for stage in sorted({c.spec.stage for c in self._children}):
            children = [c for c in self._children if c.spec.stage == stage]
            for child in children:
                child.terminate()
            deadline_s = time.monotonic() + max(c.spec.drain_s for c in children)
            for child in children:
                _await_end(child, deadline_s)
        self._selector.close()


def _await_end(child: _Child, deadline_s: float) -> None:
    if child.process is None:
        return
    try:
        child.process.wait(max(0.0, deadline_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        log.warning("%s did not stop in time; killing it", child.spec.name)
        child.kill_group(child.process.pid)
        child.process.wait()
    child.buried()


def _since(start_s: float) -> float:
    return time.monotonic() - start_s


@contextlib.contextmanager
def _wakeup(selector: selectors.BaseSelector) -> Iterator[Callable[[], None]]:
    """Let every signal end a `select`; yields what empties the wake-up socket."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    selector.register(reader, selectors.EVENT_READ, None)
    previous = signal.set_wakeup_fd(writer.fileno())

    def drained() -> None:
        with contextlib.suppress(BlockingIOError):
            while reader.recv(4096):
                pass

    try:
        yield drained
    finally:
        signal.set_wakeup_fd(previous)
        reader.close()
        writer.close()
