"""A process that has imported what others need, and becomes each of them by a fork.

Such a process starts within milliseconds where a fresh interpreter imports for seconds, and what
both have imported is in memory once. Orders come over standard input, a socket; its end is ours.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import json
import logging
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, NoReturn

from tracejury_collector.status import READY, STATUS_FD_VARIABLE, tell

log = logging.getLogger("tracejury.forkserver")

NOT_ALONE = 3
"""Exit code of a forkserver that must not fork: what it imported has started threads."""
MAX_ORDER_BYTES = 1 << 16
MAX_FDS = 16
_FAR_FD = 200  # beyond the numbers that orders name
_ADOPTION_S = 5.0
_ARG_START, _ARG_END = 45, 46  # fields of /proc/PID/stat, counted behind the name


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a fork becomes.

    `call` is the MODULE:FUNCTION that it runs with `args`; `fds` are the numbers at which it finds
    the descriptors that come with the order, `status_fd` one of them.
    """

    name: str
    call: str
    args: Sequence[str]
    fds: Sequence[int]
    status_fd: int


def send_order(server: socket.socket, order: Order, fds: Sequence[int]) -> None:
    """Have a forkserver make a process; `fds` are ours, in the order of `order.fds`.

    Raises: OSError where the forkserver is gone.
    """
    socket.send_fds(server, [json.dumps(asdict(order)).encode()], fds)


def main(argv: Sequence[str]) -> int:
    """Import by a MODULE:FUNCTION, then fork as ordered until nobody orders.

    `argv` names that function and, for whoever lists processes, this one.
    """
    prepare, _ = argv
    gc.disable()
    _function(prepare)()
    gc.collect()
    gc.freeze()  # what all share is never looked through, and so stays shared
    if not _is_alone():
        return NOT_ALONE
    tell(READY)
    os.close(int(os.environ.pop(STATUS_FD_VARIABLE)))  # forks have one of their own
    with socket.socket(fileno=os.dup(0)) as orders:
        taken = _serve(orders)
    if taken is not None:
        _become(*taken)
    return 0


def _serve(orders: socket.socket) -> tuple[Order, list[int]] | None:
    """Fork for each order; return the order in the fork, and None here once no more can come."""
    while True:
        data, fds, _, _ = socket.recv_fds(orders, MAX_ORDER_BYTES, MAX_FDS)
        if not data:
            return None
        if _fork():
            return Order(**json.loads(data)), fds
        for fd in fds:
            os.close(fd)


def _fork() -> bool:
    """Fork a process that the supervisor adopts; return whether this is the fork."""
    try:
        between = os.fork()
    except OSError as error:
        log.error("no process can be forked: %s", error)  # noqa: TRY400
        return False
    if between:
        os.waitpid(between, 0)
        return False
    parent = os.getpid()
    try:
        if os.fork():
            os._exit(0)
    except OSError as error:
        log.error("no process can be forked: %s", error)  # noqa: TRY400
        os._exit(1)
    deadline_s = time.monotonic() + _ADOPTION_S
    while os.getppid() == parent and time.monotonic() < deadline_s:
        time.sleep(0.001)
    return True


def _become(order: Order, fds: Sequence[int]) -> NoReturn:
    """Turn into what was ordered, and end with it."""
    os.setsid()
    _place(fds, order.fds)
    _name(f"tracejury {order.name}")
    os.environ[STATUS_FD_VARIABLE] = str(order.status_fd)
    tell(b"born %d\n" % os.getpid())
    sys.argv = [order.call.partition(":")[0], *order.args]
    gc.enable()
    code = 1
    try:
        code = _function(order.call)(order.args)
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:  # noqa: BLE001 - the edge of the process
        traceback.print_exc()
    finally:
        logging.shutdown()
        os._exit(code)  # to take apart what is shared would copy all of it


def _place(fds: Sequence[int], numbers: Sequence[int]) -> None:
    """Give descriptors the wanted numbers."""
    far = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FAR_FD) for fd in fds]
    for fd in fds:
        os.close(fd)
    for fd, number in zip(far, numbers, strict=True):
        os.dup2(fd, number, inheritable=number == 0)
        os.close(fd)


def _name(title: str) -> None:
    """Show `title` as the command line of this process.

    It is written over the arguments. That their last byte is not NUL says that it ends sooner.
    """
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    size = end - start
    text = title.encode()[: size - 2]
    ctypes.memmove(start, text.ljust(size - 1, b"\0") + b".", size)


def _is_alone() -> bool:
    """Say whether this process has one thread: locks that others hold would stay held in a fork."""
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        log.warning("what was imported has started %d threads", threads - 1)
    return threads == 1


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
