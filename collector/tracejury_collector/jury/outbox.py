"""Outcomes on their way from the threads that judge to the store, several in one frame."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from tracejury_collector.ipc import write_frame
from tracejury_collector.jury.protocol import outcomes_frame


class Outbox:
    """Sends what threads put in, at most `wait_s` later, whatever they do meanwhile.

    An outcome that waited for the next run to end would be lost with it, and late.
    """

    def __init__(self, writer: asyncio.StreamWriter, wait_s: float) -> None:
        self._writer = writer
        self._wait_s = wait_s
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._items: dict[int, list[bytes]] = {}
        self._done: set[int] = set()

    def put(self, order_id: int, item: bytes | None) -> None:
        """Take an outcome of an order; None ends the order, and sends it at once."""
        with self._lock:
            is_first = not self._items
            kept = self._items.setdefault(order_id, [])
            if item is None:
                self._done.add(order_id)
            else:
                kept.append(item)
        if item is None:
            self._call(self.flush)
        elif is_first:
            self._call(self._flush_soon)

    def flush(self) -> None:
        """Send what is in; on the event loop."""
        with self._lock:
            items, self._items = self._items, {}
            done, self._done = self._done, set()
        if self._writer.is_closing():
            return  # nobody listens any more; what was answered is asked again
        for order_id, of_order in items.items():
            header, payload = outcomes_frame(order_id, of_order, done=order_id in done)
            write_frame(self._writer, header, payload)

    def _flush_soon(self) -> None:
        self._loop.call_later(self._wait_s, self.flush)

    def _call(self, act: object) -> None:
        assert callable(act)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(act)
