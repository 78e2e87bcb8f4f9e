"""How much of the senders' bytes may be held at one time, decided before anything is decoded."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from tracejury_collector.errors import Unavailable


class _Waiter(NamedTuple):
    own: int
    extra: int
    turn: asyncio.Future[None]


class Reservation:
    """The bytes that one request holds; they are given back when the request ends."""

    def __init__(self, admission: Admission, size: int, arrived_ns: int) -> None:
        self._admission = admission
        self.size = size
        self.arrived_ns = arrived_ns

    async def extend_to(self, size: int) -> None:
        """Hold `size` bytes from now on, after waiting for room.

        Raises: Unavailable when there was no room in time.
        """
        if size > self.size:
            await self._admission.enter(own=self.size, extra=size - self.size)
            self.size = size

    def force_to(self, size: int) -> None:
        """Hold `size` bytes from now on, without waiting: others wait for it instead."""
        if size > self.size:
            self._admission.hold(size - self.size)
            self.size = size


class Admission:
    """Lets requests in, first come first served, while their bytes stay within the limit.

    A request is always let in when nothing else is in flight, however large it is.
    """

    def __init__(self, *, limit_bytes: int, wait_s: float) -> None:
        self._limit_bytes = limit_bytes
        self._wait_s = wait_s
        self._waiters: deque[_Waiter] = deque()
        self.in_flight = 0

    @asynccontextmanager
    async def admit(self, size: int) -> AsyncIterator[Reservation]:
        """Hold `size` bytes inside the block, after waiting for room.

        Raises: Unavailable when there was no room in time.
        """
        arrived_ns = time.time_ns()
        await self.enter(own=0, extra=size)
        reservation = Reservation(self, size, arrived_ns)
        try:
            yield reservation
        finally:
            self.give_back(reservation.size)

    async def enter(self, *, own: int, extra: int) -> None:
        """Take `extra` bytes for a request that holds `own` already.

        Raises: Unavailable when there was no room in time.
        """
        if not self._waiters and self._fits(own, extra):
            self.in_flight += extra
            return
        turn = asyncio.get_running_loop().create_future()
        waiter = _Waiter(own, extra, turn)
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(self._wait_s):
                await turn
        except BaseException as error:
            self._abandon(waiter)
            if isinstance(error, TimeoutError):
                raise Unavailable("too many requests are in flight; try again soon") from None
            raise

    def hold(self, size: int) -> None:
        """Take `size` bytes without waiting: others wait for it instead."""
        self.in_flight += size

    def _fits(self, own: int, extra: int) -> bool:
        return self.in_flight <= own or self.in_flight + extra <= self._limit_bytes

    def _abandon(self, waiter: _Waiter) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)
            self._let_in()
        else:
            self.give_back(waiter.extra)

    def give_back(self, size: int) -> None:
        """Let others have `size` bytes that were taken."""
        self.in_flight -= size
        self._let_in()

    def _let_in(self) -> None:
        while self._waiters and self._fits(self._waiters[0].own, self._waiters[0].extra):
            waiter = self._waiters.popleft()
            self.in_flight += waiter.extra
            if not waiter.turn.done():
                waiter.turn.set_result(None)
