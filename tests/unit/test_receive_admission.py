"""Bytes in flight are bounded before anything is decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from tracejury_collector.errors import Unavailable
from tracejury_collector.receive.admission import Admission


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run the test in a loop of its own."""

    async def main() -> None:
        await test()

    asyncio.run(main())


def test_a_request_is_let_in_while_there_is_room_and_gives_it_back() -> None:
    async def test() -> None:
        admission = Admission(limit_bytes=100, wait_s=0.01)
        async with admission.admit(60), admission.admit(40):
            assert admission.in_flight == 100
        assert admission.in_flight == 0

    run(test)


def test_a_request_over_the_limit_is_let_in_when_nothing_is_in_flight() -> None:
    async def test() -> None:
        admission = Admission(limit_bytes=100, wait_s=0.01)
        async with admission.admit(1000):
            with pytest.raises(Unavailable):
                async with admission.admit(1):
                    pass
        assert admission.in_flight == 0

    run(test)


def test_a_request_that_waits_is_let_in_when_another_ends() -> None:
    async def test() -> None:
        admission = Admission(limit_bytes=100, wait_s=30)
        entered: list[str] = []

        async def request(name: str, size: int) -> None:
            async with admission.admit(size):
                entered.append(name)

        async with AsyncExitStack() as stack:
            await stack.enter_async_context(admission.admit(100))
            waiting = [asyncio.create_task(request(n, s)) for n, s in (("big", 90), ("small", 5))]
            await asyncio.sleep(0)
            assert entered == []
        await asyncio.gather(*waiting)
        assert entered == ["big", "small"]
        assert admission.in_flight == 0

    run(test)


def test_a_request_that_gives_up_lets_the_next_one_in() -> None:
    async def test() -> None:
        admission = Admission(limit_bytes=100, wait_s=30)

        async def request(size: int) -> None:
            async with admission.admit(size):
                pass

        async with admission.admit(50):
            big = asyncio.create_task(request(90))
            await asyncio.sleep(0)
            small = asyncio.create_task(request(10))
            await asyncio.sleep(0)
            assert not small.done()
            big.cancel()
            await small
        assert admission.in_flight == 0

    run(test)


def test_a_request_cancelled_in_the_moment_of_its_turn_gives_its_bytes_back() -> None:
    async def test() -> None:
        admission = Admission(limit_bytes=100, wait_s=30)

        async def request() -> None:
            async with admission.admit(80):
                pass

        async with admission.admit(100):
            waiting = asyncio.create_task(request())
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert admission.in_flight == 0

    run(test)


def test_a_growing_request_waits_for_room() -> None:
    async def test() -> None:
        admission = Admission(limit_bytes=100, wait_s=0.01)
        async with admission.admit(50) as growing:
            async with admission.admit(50):
                with pytest.raises(Unavailable):
                    await growing.extend_to(60)
            await growing.extend_to(500)
            assert admission.in_flight == 500
            await growing.extend_to(20)
            assert admission.in_flight == 500
        assert admission.in_flight == 0

    run(test)


def test_forced_growth_makes_others_wait() -> None:
    async def test() -> None:
        admission = Admission(limit_bytes=100, wait_s=0.01)
        async with admission.admit(10) as growing:
            growing.force_to(200)
            with pytest.raises(Unavailable):
                async with admission.admit(1):
                    pass
        assert admission.in_flight == 0

    run(test)
