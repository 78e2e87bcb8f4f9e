"""Pairs of expected calls and calls made: as many as there can be, whatever fits what."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

from hypothesis import given
from hypothesis import strategies as st

from tracejury_evaluators.tools.alignment import Pair, free_pairs, ordered_pairs

CALLS = 5
ROWS = st.lists(st.integers(min_value=0, max_value=2**CALLS - 1), max_size=5)


def fits(rows: list[int], pairs: list[Pair]) -> bool:
    return all(rows[expected] >> call & 1 for expected, call in pairs)


def most(rows: list[int], *, ordered: bool) -> int:
    """The size of the largest pairing, by trying them all."""
    choose = combinations if ordered else permutations
    for size in range(min(len(rows), CALLS), 0, -1):
        for chosen in combinations(range(len(rows)), size):
            for taken in choose(range(CALLS), size):
                if fits(rows, list(zip(chosen, taken, strict=True))):
                    return size
    return 0


@given(ROWS)
def test_free_pairs_are_as_many_as_there_can_be_and_use_no_call_twice(rows: list[int]) -> None:
    pairs = free_pairs(rows)
    assert fits(rows, pairs)
    assert len({call for _, call in pairs}) == len({expected for expected, _ in pairs})
    assert len(pairs) == most(rows, ordered=False)
    assert pairs == sorted(pairs)


@given(ROWS)
def test_ordered_pairs_are_as_many_as_there_can_be_and_never_cross(rows: list[int]) -> None:
    pairs = ordered_pairs(rows, CALLS)
    assert fits(rows, pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(pairs) == most(rows, ordered=True)


def test_a_long_chain_makes_room_from_end_to_end() -> None:
    size = 2_000
    rows = [(1 << place) | (1 << (place + 1)) for place in range(size)] + [1]
    assert len(free_pairs(rows)) == size + 1
