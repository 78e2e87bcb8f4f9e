"""Real jury processes around a pool on a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.worker import Bench
from tracejury_collector.store.server import StoreServer

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
MOST_ENDS = 50


@dataclass
class Room:
    """Jury processes that are started anew when they end, like the supervisor does."""

    store: Bench
    socket: Path
    ended: int = 0
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _closed: threading.Event = field(default_factory=threading.Event)

    @property
    def pids(self) -> list[int]:
        """The process ids at this moment."""
        return [process.pid for process in self._processes]

    def kill_one(self) -> bool:
        """Kill the first process with its group; False if it has ended and is not replaced yet."""
        try:
            os.killpg(self._processes[0].pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def spawn(self, lane: str) -> subprocess.Popen[bytes]:
        """Start a jury process."""
        argv = [sys.executable, "-m", "tests.helpers.hostile"]
        settings = [self.store.config.model_dump_json(), str(self.socket), lane]
        return subprocess.Popen(
            [*argv, *settings], stdin=subprocess.DEVNULL, start_new_session=True, cwd=ROOT
        )

    def keep(self, lanes: Sequence[str]) -> None:
        """Keep a process alive for each of these lanes until the room is closed."""
        self._processes = [self.spawn(lane) for lane in lanes]
        while self.ended < MOST_ENDS and not self._closed.wait(0.02):
            for n, process in enumerate(self._processes):
                if process.poll() is not None:
                    self.ended += 1
                    self._processes[n] = self.spawn(lanes[n])

    def close(self) -> None:
        """End the processes."""
        self._closed.set()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait()

    def until_judged(self) -> None:
        """Wait until no job is left, however many there are, as long as they get fewer."""
        while left := self._jobs():
            wait_until(lambda before=left: self._jobs() < before)  # type: ignore[misc]

    def _jobs(self) -> int:
        found: int = self.store.rows("SELECT count(*) FROM base.jobs")[0][0]
        return found


@contextmanager
def room(store: Bench, directory: Path, processes: int = 1, judges: int = 0) -> Iterator[Room]:
    """Give a running jury for what the store has selected."""
    opened = Room(store=store, socket=directory / "store.sock")
    stop, serving = threading.Event(), threading.Event()
    pool = threading.Thread(target=lambda: asyncio.run(_serve(opened, serving, stop)))
    lanes = [*["quick"] * processes, *["waiting"] * judges]
    keeper = threading.Thread(target=opened.keep, args=[lanes])
    pool.start()
    assert serving.wait(10)
    keeper.start()
    try:
        yield opened
    finally:
        opened._closed.set()
        keeper.join()
        opened.close()
        stop.set()
        pool.join()


async def _serve(opened: Room, serving: threading.Event, stop: threading.Event) -> None:
    jury = opened.store.jury
    server = StoreServer(str(opened.socket), {"jury": jury.handle})
    stopping = asyncio.Event()
    running = asyncio.create_task(jury.run(stopping))
    await server.start()
    serving.set()
    await asyncio.to_thread(stop.wait)
    await server.stop()
    stopping.set()
    await running


def wait_until(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait until the condition holds; fails if it never does."""
    deadline_s = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline_s, "it never happened"
        time.sleep(0.02)
