"""The window of hashes gives the same answers as a set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracejury_collector.store import dedup
from tracejury_collector.store.dedup import DedupWindow, Hashes

MINUTE_NS = 60 * 1_000_000_000
Pair = tuple[int, int]

# Few distinct halves, so that equal halves meet in different pairs, and both ends of the range.
_HALF = st.one_of(st.integers(0, 3), st.integers(2**64 - 2, 2**64 - 1), st.integers(0, 2**64 - 1))
_BATCHES = st.lists(st.lists(st.tuples(_HALF, _HALF), max_size=40), max_size=30)


def _halves(pairs: list[Pair]) -> tuple[Hashes, Hashes]:
    high, low = ([pair[i] for pair in pairs] for i in (0, 1))
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


@given(batches=_BATCHES, committed=st.lists(st.booleans(), min_size=30, max_size=30))
@settings(max_examples=200, deadline=None)
def test_a_row_is_new_once_after_it_was_committed(
    batches: list[list[Pair]], committed: list[bool]
) -> None:
    window, known = DedupWindow(), set[Pair]()
    for batch, is_committed in zip(batches, committed, strict=False):
        sifted = window.sift(*_halves(batch), now_ns=0)
        seen = set(known)
        expected = []
        for pair in batch:
            expected.append(pair not in seen)
            seen.add(pair)
        assert sifted.new.tolist() == expected
        if is_committed:
            window.remember(sifted.run)
            known = seen
    assert len(window) == len(known)


@given(stored=st.lists(st.tuples(_HALF, _HALF)), batch=st.lists(st.tuples(_HALF, _HALF)))
@settings(max_examples=100, deadline=None)
def test_a_loaded_row_is_known(stored: list[Pair], batch: list[Pair]) -> None:
    window = DedupWindow()
    window.load(*_halves(stored), newest_ns=0)
    new = window.sift(*_halves(batch), now_ns=0).new.tolist()
    assert new == [p not in stored and p not in batch[:i] for i, p in enumerate(batch)]


def test_the_window_keeps_what_came_in_the_last_minutes() -> None:
    window = DedupWindow()
    for minute in range(40):
        sifted = window.sift(*_halves([(minute, minute)]), now_ns=minute * MINUTE_NS)
        window.remember(sifted.run)
    recent = [(minute, minute) for minute in range(25, 40)]
    assert not window.sift(*_halves(recent), now_ns=40 * MINUTE_NS).new.any()


def test_a_run_of_hashes_older_than_the_window_is_forgotten() -> None:
    window = DedupWindow()
    old = [(1, i) for i in range(100)]
    for pairs, now_ns in ((old, 0), ([(2, 2)], dedup.WINDOW_NS + 1)):
        window.remember(window.sift(*_halves(pairs), now_ns=now_ns).run)
    assert len(window) == 1
    assert window.sift(*_halves([(1, 1), (2, 2)]), now_ns=0).new.tolist() == [True, False]


def test_the_window_stays_bounded_and_holds_the_newest_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dedup, "WINDOW_ROWS", 40_000)
    monkeypatch.setattr(dedup, "RUN_ROWS", 10_000)
    window = DedupWindow()
    random = np.random.default_rng(1)
    batches = []
    for _ in range(90):
        halves = random.integers(0, 2**64, size=(2, 1000), dtype=np.uint64)
        batches.append(halves)
        window.remember(window.sift(halves[0], halves[1], now_ns=0).run)
        assert len(window) <= 50_000
    for halves in batches[-40:]:
        assert not window.sift(halves[0], halves[1], now_ns=0).new.any()
    assert window.sift(batches[0][0], batches[0][1], now_ns=0).new.all()


def test_a_batch_that_was_rolled_back_can_come_again() -> None:
    window = DedupWindow()
    halves = _halves([(1, 1), (2, 2)])
    assert window.sift(*halves, now_ns=0).new.all()
    assert window.sift(*halves, now_ns=0).new.all()
