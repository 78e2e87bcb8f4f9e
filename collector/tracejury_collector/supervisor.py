"""The parent of the service's processes: starts them, restarts what dies, drains them in order."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from tracejury_collector.children import Child, ChildSpec
from tracejury_collector.forkserver import NOT_ALONE
from tracejury_collector.status import CANNOT_START

log = logging.getLogger("tracejury.supervisor")

_PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h


class Supervisor:
    """Keeps its children alive until SIGTERM or SIGINT, then drains them stage by stage."""

    def __init__(
        self,
        specs: Sequence[ChildSpec],
        on_ready: Callable[[], None],
        started: Sequence[Child] = (),
    ) -> None:
        """Keep what `specs` say and the children that were `started` already."""
        self._children = [*started, *(Child(spec) for spec in specs)]
        self._servers = {child.spec.name: child for child in self._children if child.spec.serves}
        self._on_ready = on_ready
        self._announced = False
        self._stopping = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Run until told to stop; return the exit code of the service."""
        with (
            _wakeup(self._selector) as drained,
            self._signals(),
            adopting(wanted=bool(self._servers)) as can,
        ):
            if not can:
                self._give_up(*self._servers.values())
            for child in filter(lambda child: child.is_running, self._children):
                self._listen_to(child)
            while not self._stopping:
                if (hopeless := self._bury_and_restart()) is not None:
                    self._drain()
                    log.critical("%s cannot start: %s", hopeless.spec.name, hopeless.complaint)
                    return CANNOT_START
                timeout_s = self._next_restart_s()
                for key, _ in self._selector.select(timeout_s):
                    self._on_event(key, drained)
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

    def _start(self, child: Child) -> None:
        server = self._server_of(child)
        child.start(server.orders if server is not None else None)
        self._listen_to(child)

    def _listen_to(self, child: Child) -> None:
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

    def _server_of(self, child: Child) -> Child | None:
        """Return the forkserver that makes a child; None if it is to be started afresh."""
        fork = child.spec.fork
        return self._servers.get(fork.server) if fork is not None else None

    def _bury_and_restart(self) -> Child | None:
        """Restart dead children; return one that no restart can help."""
        for child in list(self._children):
            fd = child.status_fd
            code = child.buried()
            if code is not None:
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(fd)
                if code == CANNOT_START and not child.ever_ready:
                    return child
                if code == NOT_ALONE and child.spec.serves:
                    self._give_up(child)
                    continue
                if not self._stopping:
                    log.warning("%s ended with %d; restarting it", child.spec.name, code)
            if self._is_due(child):
                self._start(child)
        self._bury_strangers()
        return None

    def _give_up(self, *servers: Child) -> None:
        """Do without forkservers; what they were to make is started afresh."""
        for server in servers:
            del self._servers[server.spec.name]
            self._children.remove(server)

    def _is_due(self, child: Child) -> bool:
        if child.is_running or self._stopping or time.monotonic() < child.restart_at_s:
            return False
        server = self._server_of(child)
        return server is None or server.is_running

    def _due_at_s(self, child: Child) -> float:
        """Return when a child is to be started: not before the one that makes it."""
        if child.is_running:
            return 0.0
        server = self._server_of(child)
        return max(child.restart_at_s, self._due_at_s(server) if server is not None else 0.0)

    def _bury_strangers(self) -> None:
        """Bury what died after its parent: such processes become the supervisor's."""
        ours = {child.pid for child in self._children}
        with contextlib.suppress(ChildProcessError):
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if found.si_pid in ours:
                    return  # it is buried next time
                os.waitpid(found.si_pid, 0)

    def _next_restart_s(self) -> float | None:
        waiting = [self._due_at_s(c) for c in self._children if not c.is_running]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    def _drain(self) -> None:
        self._stopping = True
        for stage in sorted({c.spec.stage for c in self._children}):
            children = [c for c in self._children if c.spec.stage == stage]
            for child in children:
                child.terminate()
            deadline_s = time.monotonic() + max(c.spec.drain_s for c in children)
            for child in children:
                child.await_end(deadline_s)
        self._selector.close()


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


@contextlib.contextmanager
def adopting(*, wanted: bool = True) -> Iterator[bool]:
    """Become the parent of what forkservers leave to us; yields whether the system can that."""
    yield wanted and _set_subreaper(1)
    if wanted:
        _set_subreaper(0)


def _set_subreaper(value: int) -> bool:
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return prctl is not None and prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0) == 0
