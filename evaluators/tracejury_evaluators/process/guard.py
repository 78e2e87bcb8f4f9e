"""Stands between Tracejury and a script, so that nothing the script started outlives it.

Run as a program: `guard.py SOCKET MEMORY_BYTES COMMAND…`. Leads a session of its own, takes in
every orphan of the script (Linux), and kills all that is left once the script has ended, or once
the other end of SOCKET is closed: that is the wish to stop, and also what the death of the process
at the other end looks like. Says on SOCKET how the script ended: `exit 0`, `signal 9`, or
`error …` where it could not be started. Imports only what it needs: it starts for each judgement.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_CHILD_SUBREAPER = 36
_ROUNDS = 1000  # a script that starts processes faster than they are killed is left in the end


def main(argv: list[str]) -> None:
    """Run the command to its end, or to the end of the one who asked for it."""
    asker, memory_bytes, command = int(argv[0]), int(argv[1]), argv[2:]
    os.set_inheritable(asker, False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    _adopt_orphans()
    ended, tell = os.pipe()
    signal.signal(signal.SIGCHLD, lambda *_: None)
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    script = os.fork()
    if script == 0:
        _become(command, memory_bytes, asker)
    _quietly(os.setpgid, script, script)
    status = _wait(script, asker, ended)
    _kill_all(script)
    _quietly(os.write, asker, status)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _become(command: list[str], memory_bytes: int, asker: int) -> None:
    """Turn this process into the script, in a process group of its own; never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (
            signal.SIGTERM,
            signal.SIGINT,
            signal.SIGHUP,
            signal.SIGPIPE,
            signal.SIGCHLD,
        ):
            signal.signal(number, signal.SIG_DFL)
        os.setpgid(0, 0)
        _limit(memory_bytes)
        os.execv(command[0], command)
    except OSError as error:
        os.write(asker, f"error {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _limit(memory_bytes: int) -> None:
    """Limit what the script can fill, not what it reserves: runtimes reserve far more."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _wait(script: int, asker: int, ended: int) -> bytes:
    """How the script ended; nothing where it was to be stopped."""
    poll = select.poll()
    poll.register(asker, select.POLLIN)
    poll.register(ended, select.POLLIN)
    while True:
        if any(number == asker for number, _ in poll.poll()):
            return b""
        os.read(ended, 4096)
        found = os.waitid(os.P_PID, script, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is not None:
            word = "exit" if found.si_code == os.CLD_EXITED else "signal"
            return f"{word} {found.si_status}\n".encode()


def _kill_all(script: int) -> None:
    """Kill the script's group, and then its orphans, each of which may leave new ones.

    The script's id is still its own: nobody has waited for it yet.
    """
    _quietly(os.killpg, script, signal.SIGKILL)
    for _ in range(_ROUNDS):
        for pid in _children():
            _quietly(os.kill, pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _quietly(act: Callable[..., object], *arguments: object) -> None:
    """Do what may come too late."""
    try:  # noqa: SIM105 importing contextlib takes longer than all else here
        act(*arguments)
    except OSError:
        pass


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


if __name__ == "__main__":
    main(sys.argv[1:])
