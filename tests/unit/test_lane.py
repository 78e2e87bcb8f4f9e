"""Requests that take long: when they give way, and what becomes of their threads."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable

import pytest

from tests.helpers.service import eventually
from tracejury_collector.api import lane
from tracejury_collector.api.lane import Lane
from tracejury_collector.errors import Unavailable


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def niceness_in_the_end() -> int:
    """Return it once it has changed."""
    eventually(lambda: niceness() > NORMAL, "its thread gives way")
    return niceness()


NORMAL = niceness()


def in_lane(*functions: Callable[[], int]) -> list[int]:
    async def run() -> list[int]:
        queries = Lane("queries", at_once=1, wait_s=5)
        return [await queries.run(function, 5) for function in functions]

    return asyncio.run(run())


def test_what_is_answered_soon_runs_like_all_else_also_after_what_was_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lane, "BRISK_S", 0.2)
    monkeypatch.setattr(lane, "_NICENESS", NORMAL + 1)
    quick, slow, next_one = in_lane(niceness, niceness_in_the_end, niceness)
    assert (quick, slow > NORMAL, next_one) == (NORMAL, True, NORMAL)
    assert niceness() == NORMAL


def test_a_caller_that_leaves_frees_no_place() -> None:
    release = threading.Event()

    async def run() -> int:
        queries = Lane("queries", at_once=1, wait_s=0.05)
        with pytest.raises(TimeoutError):
            await queries.run(lambda: release.wait(5), 0.01)
        with pytest.raises(Unavailable, match=r"1 queries are running, and none ended in 0\.05 s"):
            await queries.run(niceness, 5)
        release.set()
        eventually(lambda: threading.active_count() == before, "the thread ends")
        return await queries.run(niceness, 5)

    before = threading.active_count()
    assert asyncio.run(run()) == NORMAL
