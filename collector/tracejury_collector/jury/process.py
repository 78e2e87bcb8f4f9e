"""A jury process: takes orders from the store, judges, hands outcomes back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from tracejury_collector.config import Config, JurySettings
from tracejury_collector.ipc import BrokenFrame, read_frame, write_frame
from tracejury_collector.jury.confinement import address_space_bytes, confine
from tracejury_collector.jury.judging import Bench
from tracejury_collector.jury.progress import Progress
from tracejury_collector.jury.protocol import JudgeOrder, hello, leaving, outcomes_frame, read_judge
from tracejury_collector.jury.roster import RegistryFactory
from tracejury_evaluators.endpoint import use_endpoint

log = logging.getLogger(__name__)

DRAIN_S = 1.0
_CLOSE_S = 0.2
_RECONNECT_S = (0.05, 0.5)
_FULL = 0.6
"""Share of the memory limit above which the process makes way for a fresh one."""


async def run(
    config: Config,
    store_socket: str,
    stop: asyncio.Event,
    *,
    registry: RegistryFactory,
) -> None:
    """Judge until `stop` is set, or until evaluators have left too little memory to go on.

    Then the process ends at once: threads that evaluators have left would keep it for ever.
    """
    confine(config.jury.memory)
    use_endpoint(config.judge.endpoint())
    leave = asyncio.create_task(stop.wait())
    bench_registry = registry()
    delay_s = _RECONNECT_S[0]
    while not stop.is_set():
        try:
            reader, writer = await asyncio.open_unix_connection(store_socket)
        except OSError:
            await asyncio.wait([leave], timeout=delay_s)
            delay_s = min(delay_s * 2, _RECONNECT_S[1])
            continue
        delay_s = _RECONNECT_S[0]
        progress = Progress.create(Path(f"{store_socket}.{os.getpid()}.progress"))
        session = _Session(Bench(bench_registry, progress), writer, config.jury)
        write_frame(writer, hello(os.getpid(), Path(f"{store_socket}.{os.getpid()}.progress")))
        if await session.serve(reader, leave):
            break
    logging.shutdown()
    os._exit(0)


class _Session:
    """One connection to the store; evaluators run in a thread of its own."""

    def __init__(self, bench: Bench, writer: asyncio.StreamWriter, settings: JurySettings) -> None:
        self._bench = bench
        self._writer = writer
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._orders: SimpleQueue[JudgeOrder | None] = SimpleQueue()
        self._leaving = threading.Event()
        self._full = asyncio.Event()
        self._finished = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, leave: asyncio.Task[bool]) -> bool:
        """Serve the connection until it ends; return whether the process must leave."""
        threading.Thread(target=self._judge_orders, name="evaluators", daemon=True).start()
        receive = asyncio.create_task(self._receive(reader))
        full = asyncio.create_task(self._full.wait())
        await asyncio.wait([receive, leave, full], return_when=asyncio.FIRST_COMPLETED)
        self._leaving.set()
        self._orders.put(None)
        if leave.done():
            write_frame(self._writer, leaving())
        lost = receive.done() and not leave.done()
        finished = await self._drain(self._settings.timeout if lost else DRAIN_S)
        for task in (receive, full):
            task.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), _CLOSE_S)
        return leave.done() or self._full.is_set() or not finished

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, BrokenFrame, OSError):
            while True:
                header, payload = await read_frame(reader)
                self._orders.put(read_judge(header, payload))

    async def _drain(self, limit_s: float) -> bool:
        """Wait for the running evaluator and hand over what is done; return whether it ended."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(limit_s):
                await self._finished.wait()
                await self._writer.drain()
        return self._finished.is_set()

    def _judge_orders(self) -> None:
        """Judge what comes; the body of the evaluators' thread."""
        while (order := self._orders.get()) is not None and not self._must_leave():
            self._bench.judge(order, partial(self._send, order.id), self._must_leave)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._finished.set)

    def _must_leave(self) -> bool:
        if address_space_bytes() > _FULL * self._settings.memory and not self._leaving.is_set():
            log.warning("evaluators left too little memory; this jury process makes way")
            self._leaving.set()
            self._loop.call_soon_threadsafe(self._full.set)
        return self._leaving.is_set()

    def _send(self, order_id: int, items: list[bytes], done: bool) -> None:
        header, payload = outcomes_frame(order_id, items, done=done)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(write_frame, self._writer, header, payload)
