"""Authors' code in a process of its own: it may loop, print, exit or crash, and harms nobody."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO

from tracejury.errors import DefinitionError
from tracejury_evaluators.authoring.orders import Answer, Order

STARTUP_S = 60.0
MAX_LINE_BYTES = 64 << 20
GRACE_S = 5.0


class Lost(Exception):
    """The process ended, or said nothing for too long; the message says which."""


class Apart:
    """A process that carries out one order.

    `-P`: a file of the current folder, such as `json.py`, hides no module of that name from it.
    """

    def __init__(self, order: Order) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tracejury_evaluators.authoring.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=100)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        data = order.model_dump_json().encode()
        for target, parts in (
            (_write, (self._process.stdin, data)),
            (_read, (self._process.stdout, self._lines)),
        ):
            threading.Thread(target=target, args=parts, daemon=True).start()

    def answer(self, timeout_s: float) -> Answer:
        """The next line of the answer.

        Raises: Lost; DefinitionError for what the process found wrong.
        """
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            raise Lost(f"it took longer than {timeout_s:g} s") from None
        if not line:
            raise Lost(self._ending())
        answer = Answer.model_validate_json(line)
        if answer.problem is not None:
            raise DefinitionError(answer.problem)
        return answer

    def _ending(self) -> str:
        try:
            code = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        if code >= 0:
            return f"it ended the process with exit code {code}"
        with contextlib.suppress(ValueError):
            return f"the process was killed by {signal.Signals(-code).name}"
        return f"the process was killed by signal {-code}"

    def close(self) -> None:
        """Leave nothing of it running."""
        with contextlib.suppress(OSError):
            _kill_group(self._process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def apart(order: Order) -> Iterator[Apart]:
    """A process that carries out the order, and is gone afterwards."""
    made = Apart(order)
    try:
        yield made
    finally:
        made.close()


def ask(order: Order, timeout_s: float, lost: str) -> Answer:
    """The one answer to an order.

    Raises: DefinitionError, also where the process is lost: `lost` says what that means.
    """
    try:
        with apart(order) as process:
            return process.answer(timeout_s)
    except Lost as error:
        raise DefinitionError(f"{lost}: {error}") from error


def _write(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), pipe:
        pipe.write(data)


def _read(pipe: IO[bytes], lines: queue.Queue[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while line := pipe.readline(MAX_LINE_BYTES):
            lines.put(line)
    lines.put(b"")
