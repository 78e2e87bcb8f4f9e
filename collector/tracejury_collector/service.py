"""`tracejury serve`: what starts the service, holds its sockets, and keeps its processes alive.

It imports little, since it stays. The forkservers import meanwhile what the others need, and the
planner, a fork of the first of them, reads the configuration and ends with that.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from tracejury_collector.children import Child, ChildSpec, Fork
from tracejury_collector.forking import JURY, command, forkservers, plain
from tracejury_collector.logs import log_to_stderr
from tracejury_collector.plans import SOCKETS, Plan, receive_plan
from tracejury_collector.supervisor import Supervisor, adopting

log = logging.getLogger("tracejury.supervisor")

_OPEN_FILES = 65_536  # of each process, where the system allows as many
_PLANNER_S = 10.0
"""How long the planner may take to end once it has sent its plan."""


def serve(config_path: str | None) -> int:
    """Run the service until it is told to stop; return its exit code.

    This process is replaced by a small one of the same id: what the command line has imported is
    of no use to it.
    """
    words = command("service", *([config_path] if config_path else []))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(words[0], words)


def main(argv: Sequence[str]) -> int:
    """Run the service of the configuration `argv`, or of none."""
    log_to_stderr("supervisor")
    _allow_open_files()
    with adopting() as can_fork, _stopped_by_signals():
        servers = _started_forkservers() if can_fork else []
        try:
            plan = _planned(argv, servers)
        except _NoPlan as ended:
            for server in servers:
                server.kill()
            return ended.code
        try:
            return Supervisor(plan.children, _announce(plan), started=servers).run()
        finally:
            shutil.rmtree(plan.directory, ignore_errors=True)


class _NoPlan(Exception):
    """The planner has ended without a plan, and has said why."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _started_forkservers() -> list[Child]:
    first, *others = [Child(spec) for spec in forkservers(plain(os.environ))]
    first.start(None)
    for other in others:
        other.start(first.orders)
    return [first, *others]


def _planned(argv: Sequence[str], servers: Sequence[Child]) -> Plan:
    """Return the plan, with its sockets in their places; signals end the wait.

    Raises: _NoPlan.
    """
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            planner = Child(_planner(argv, theirs.fileno()))
            planner.start(servers[0].orders if servers else None)
        found = receive_plan(ours)
        code = planner.await_end(time.monotonic() + _PLANNER_S)
    if found is None:
        raise _NoPlan(code or 1)
    plan, fds = found
    for fd, number in zip(fds, SOCKETS, strict=True):
        os.dup2(fd, number, inheritable=False)
        os.close(fd)
    return plan


def _planner(argv: Sequence[str], fd: int) -> ChildSpec:
    told = {"fd": fd, "environ": {n: v for n, v in os.environ.items() if _is_text(n + v)}}
    return ChildSpec(
        name="planner",
        argv=command("planning", *argv),
        settings=json.dumps(told).encode(),
        environ=plain(os.environ),
        fork=Fork(server=JURY, call="tracejury_collector.planning:main", args=argv),
        fds=(fd,),
    )


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _allow_open_files() -> None:
    """Let this process and its children hold many connections: the usual 1024 are few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _announce(plan: Plan) -> Callable[[], None]:
    return lambda: print(plan.announcement, flush=True)  # noqa: T201


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let signals end this process in order while it waits for the planner."""

    def stop(*_: object) -> None:
        raise SystemExit(0)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
