"""Evaluators that do what no evaluator should; run as a script: a jury process that has them."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from typing import cast

from tracejury.evaluator import evaluator
from tracejury.trace import Trace
from tracejury_collector.config import Config
from tracejury_collector.jury import process
from tracejury_collector.jury.protocol import JurorLane
from tracejury_evaluators.plugins import default_registry
from tracejury_evaluators.registry import Registry

POISON = "f"
"""Traces whose id ends like this are the ones that hostile evaluators attack."""

_kept: list[bytes] = []


def _is_poison(trace: Trace) -> bool:
    return trace.trace_id.endswith(POISON)


@evaluator("loops")
def loops(trace: Trace) -> bool:
    """Never ends."""
    while _is_poison(trace):
        pass
    return True


@evaluator("holds-the-interpreter")
def holds_the_interpreter(trace: Trace) -> bool:
    """Never ends and lets no other thread run."""
    return not (_is_poison(trace) and re.match(r"(a+)+$", "a" * 60 + "b"))


@evaluator("leaves-children")
def leaves_children(trace: Trace) -> bool:
    """Starts a process of its own and waits for it."""
    if _is_poison(trace):
        subprocess.run([sys.executable, "-c", "import time; time.sleep(601)"], check=False)
    return True


@evaluator("exits")
def exits(trace: Trace) -> bool:
    """Ends the process at once."""
    if _is_poison(trace):
        os._exit(3)
    return True


@evaluator("kills-itself")
def kills_itself(trace: Trace) -> bool:
    """Ends the process by a signal."""
    if _is_poison(trace):
        os.kill(os.getpid(), signal.SIGKILL)
    return True


@evaluator("exits-later")
def exits_later(trace: Trace) -> bool:
    """Ends the process when it is no longer running."""
    if _is_poison(trace):
        threading.Timer(0.02, os._exit, [4]).start()
    return True


@evaluator("asks-to-stop")
def asks_to_stop(trace: Trace) -> bool:
    """Sends the process the signal that stops it politely."""
    if _is_poison(trace):
        os.kill(os.getpid(), signal.SIGTERM)
    return True


@evaluator("raises-system-exit")
def raises_system_exit(trace: Trace) -> bool:
    """Raises what ends a program."""
    if _is_poison(trace):
        raise SystemExit(0)
    return True


@evaluator("raises-base-exception")
def raises_base_exception(trace: Trace) -> bool:
    """Raises what nobody catches."""
    if _is_poison(trace):
        raise BaseException("from below")
    return True


@evaluator("hogs-memory")
def hogs_memory(trace: Trace) -> bool:
    """Allocates without end."""
    blocks = []
    while _is_poison(trace):
        blocks.append(bytes(64 << 20))
    return True


@evaluator("leaks-memory")
def leaks_memory(trace: Trace) -> bool:
    """Keeps what it allocates."""
    while _is_poison(trace):
        _kept.append(bytes(64 << 20))
    return True


@evaluator("shouts")
def shouts(trace: Trace) -> bool:
    """Prints 10 MB on each stream."""
    if _is_poison(trace):
        for stream in (sys.stdout, sys.stderr):
            for _ in range(10):
                stream.write("x" * (1 << 20))
            stream.flush()
        os.write(1, b"x" * (1 << 20))
    return True


@evaluator("says-too-much")
def says_too_much(trace: Trace) -> dict[str, object]:
    """Returns details of 50 MB."""
    details = {"text": "x" * (50 << 20)} if _is_poison(trace) else {}
    return {"value": 1.0, "details": details}


@evaluator("closes-everything")
def closes_everything(trace: Trace) -> bool:
    """Closes every file the process has."""
    if _is_poison(trace):
        os.closerange(3, 256)
    return True


@evaluator("takes-its-time")
def takes_its_time(trace: Trace, *, duration_s: float = 0.0) -> bool:
    """Sleeps on the traces that others attack."""
    if _is_poison(trace):
        time.sleep(duration_s)
    return True


@evaluator("returns-nan")
def returns_nan(trace: Trace) -> float:
    """Gives no number."""
    return float("nan") if _is_poison(trace) else 1.0


@evaluator("raises-keyboard-interrupt")
def raises_keyboard_interrupt(trace: Trace) -> bool:
    """Raises what stops a program."""
    if _is_poison(trace):
        raise KeyboardInterrupt
    return True


@evaluator("sleeps-under-the-lock")
def sleeps_under_the_lock(trace: Trace) -> bool:
    """Waits in C without letting other threads run."""
    if _is_poison(trace):
        ctypes.PyDLL(None).sleep(600)
    return True


@evaluator("leaves-threads")
def leaves_threads(trace: Trace) -> bool:
    """Starts threads that outlive it."""
    if _is_poison(trace):
        for _ in range(3):
            threading.Thread(target=time.sleep, args=[600], daemon=True).start()
        threading.Thread(target=time.sleep, args=[600]).start()
    return True


@evaluator("kills-its-group")
def kills_its_group(trace: Trace) -> bool:
    """Ends all processes of its group."""
    if _is_poison(trace):
        os.killpg(0, signal.SIGKILL)
    return True


@evaluator("changes-the-process")
def changes_the_process(trace: Trace) -> bool:
    """Changes what other evaluators find."""
    if _is_poison(trace):
        os.chdir("/")
        sys.setrecursionlimit(60)
        threading.stack_size(1 << 20)
        sys.stdout = sys.stderr = None
    return True


@evaluator("waits-for-a-file", waits=True)
def waits_for_a_file(trace: Trace, *, path: str) -> bool:
    """Passes once there is a file."""
    while not os.path.exists(path):
        time.sleep(0.01)
    return True


@evaluator("awaits-in-vain")
async def awaits_in_vain(trace: Trace) -> bool:
    """Waits for what never comes."""
    if _is_poison(trace):
        await asyncio.Event().wait()
    return True


@evaluator("exits-while-others-wait", waits=True)
def exits_while_others_wait(trace: Trace) -> bool:
    """Ends the process in which others wait."""
    time.sleep(0.05)
    if _is_poison(trace):
        os._exit(5)
    return True


HOSTILE = (
    waits_for_a_file,
    awaits_in_vain,
    exits_while_others_wait,
    returns_nan,
    raises_keyboard_interrupt,
    sleeps_under_the_lock,
    leaves_threads,
    kills_its_group,
    changes_the_process,
    takes_its_time,
    loops,
    holds_the_interpreter,
    leaves_children,
    exits,
    kills_itself,
    exits_later,
    asks_to_stop,
    raises_system_exit,
    raises_base_exception,
    hogs_memory,
    leaks_memory,
    shouts,
    says_too_much,
    closes_everything,
)


def registry() -> Registry:
    """Return the built-in evaluators and the hostile ones."""
    found = default_registry()
    for definition in HOSTILE:
        found.register(definition, origin="tests")
    return found


async def _main(config: Config, store_socket: str, lane: JurorLane) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await process.run(config, store_socket, stop, registry=registry, lane=lane)


if __name__ == "__main__":
    asyncio.run(
        _main(Config.model_validate_json(sys.argv[1]), sys.argv[2], cast("JurorLane", sys.argv[3]))
    )
