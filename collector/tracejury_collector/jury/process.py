"""A jury process: takes orders from the store, judges, hands outcomes back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from tracejury_collector.config import Config, JurySettings
from tracejury_collector.ipc import BrokenFrame, read_frame, write_frame
from tracejury_collector.jury.confinement import address_space_bytes, confine
from tracejury_collector.jury.judging import Bench, Members
from tracejury_collector.jury.outbox import Outbox
from tracejury_collector.jury.progress import Progress
from tracejury_collector.jury.protocol import JudgeOrder, JurorLane, hello, leaving, read_judge
from tracejury_collector.jury.roster import RegistryFactory
from tracejury_evaluators.endpoint import use_endpoint

log = logging.getLogger(__name__)

DRAIN_S = 1.0
FLUSH_S = 0.05
"""Outcomes of computing evaluators are handed back this often, so that a crash loses few."""
FLUSH_SPANS_S = 0.2
_CLOSE_S = 0.2
_RECONNECT_S = (0.05, 0.5)
_FULL = 0.6
"""Share of the memory limit above which the process makes way for a fresh one."""
_LONGEST_S = 3600.0
"""What a process that makes way gives to what it still runs: each run has a limit of its own."""


async def run(
    config: Config,
    store_socket: str,
    stop: asyncio.Event,
    *,
    registry: RegistryFactory,
    lane: JurorLane = "quick",
    otlp_http: str = "",
    own_key: str = "",
) -> None:
    """Judge until `stop` is set, or until evaluators have left too little memory to go on.

    What judges are asked is traced to the address `otlp_http` with the key `own_key`; to none if
    the address is "".
    Then the process ends at once: threads that evaluators have left would keep it for ever.
    """
    confine(config.jury.memory)
    use_endpoint(config.judge.endpoint())
    flush = _traced(config, otlp_http if lane == "waiting" else "", own_key)
    leave = asyncio.create_task(stop.wait())
    members = Members(registry())
    slots = 1 if lane == "quick" else -(-config.judge.concurrency // config.jury.judges)
    path = Path(f"{store_socket}.{os.getpid()}.progress")
    delay_s = _RECONNECT_S[0]
    while not stop.is_set():
        try:
            reader, writer = await asyncio.open_unix_connection(store_socket)
        except OSError:
            await asyncio.wait([leave], timeout=delay_s)
            delay_s = min(delay_s * 2, _RECONNECT_S[1])
            continue
        delay_s = _RECONNECT_S[0]
        progress = Progress.create(path, slots)
        benches = [
            Bench(members, progress, slot, ends_late=lane == "waiting") for slot in range(slots)
        ]
        session = _Session(benches, writer, config.jury, lane)
        write_frame(writer, hello(os.getpid(), lane, path))
        if await session.serve(reader, leave):
            break
    flush(FLUSH_SPANS_S)
    logging.shutdown()
    os._exit(0)


def _traced(config: Config, otlp_http: str, own_key: str) -> Callable[[float], None]:
    """Have judges traced; what sends the last spans."""
    if not otlp_http:
        return lambda _: None
    from tracejury_collector.jury.tracing import start_tracing

    return start_tracing(config.judge, otlp_http, own_key)


class _Session:
    """One connection to the store; each bench judges in a thread of its own."""

    def __init__(
        self,
        benches: list[Bench],
        writer: asyncio.StreamWriter,
        settings: JurySettings,
        lane: JurorLane,
    ) -> None:
        self._benches = benches
        self._writer = writer
        self._settings = settings
        self._lane = lane
        self._loop = asyncio.get_running_loop()
        self._outbox = Outbox(writer, FLUSH_S if lane == "quick" else 0.0)
        self._orders: SimpleQueue[JudgeOrder | None] = SimpleQueue()
        self._leaving = threading.Event()
        self._full = asyncio.Event()
        self._finished = asyncio.Event()
        self._judging = len(benches)

    async def serve(self, reader: asyncio.StreamReader, leave: asyncio.Task[bool]) -> bool:
        """Serve the connection until it ends; return whether the process must leave."""
        for bench in self._benches:
            threading.Thread(
                target=self._judge_orders, args=[bench], name="evaluators", daemon=True
            ).start()
        receive = asyncio.create_task(self._receive(reader))
        full = asyncio.create_task(self._full.wait())
        await asyncio.wait([receive, leave, full], return_when=asyncio.FIRST_COMPLETED)
        self._leaving.set()
        for _ in self._benches:
            self._orders.put(None)
        if leave.done() or (self._lane == "waiting" and full.done()):
            write_frame(self._writer, leaving())
        finished = await self._drain(self._patience_s(leave, receive))
        for task in (receive, full):
            task.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), _CLOSE_S)
        return leave.done() or self._full.is_set() or not finished

    def _patience_s(self, leave: asyncio.Task[bool], receive: asyncio.Task[None]) -> float:
        """How long what runs is waited for."""
        if leave.done():
            return DRAIN_S
        if self._lane == "waiting":
            # what others work on has been paid for; without a store nobody wants it any more
            return DRAIN_S if receive.done() else _LONGEST_S
        return self._settings.timeout if receive.done() else DRAIN_S

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, BrokenFrame, OSError):
            while True:
                header, payload = await read_frame(reader)
                self._orders.put(read_judge(header, payload))

    async def _drain(self, limit_s: float) -> bool:
        """Wait for the running evaluators and hand over what is done; return whether they ended."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(limit_s):
                await self._finished.wait()
        self._outbox.flush()
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(_CLOSE_S):
                await self._writer.drain()
        return self._finished.is_set()

    def _judge_orders(self, bench: Bench) -> None:
        """Judge what comes; the body of a thread."""
        while (order := self._orders.get()) is not None and not self._must_leave():
            bench.judge(order, partial(self._outbox.put, order.id), self._must_leave)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended)

    def _ended(self) -> None:
        self._judging -= 1
        if not self._judging:
            self._finished.set()

    def _must_leave(self) -> bool:
        if address_space_bytes() > _FULL * self._settings.memory and not self._leaving.is_set():
            log.warning("evaluators left too little memory; this jury process makes way")
            self._leaving.set()
            self._loop.call_soon_threadsafe(self._full.set)
        return self._leaving.is_set()
