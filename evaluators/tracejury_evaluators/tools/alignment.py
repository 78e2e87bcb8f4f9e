"""Which call stands for which expected one, with as many pairs as there can be.

Both functions take one row per expected call: a whole number whose bit j says that call j fits.
They return pairs (expected, call), in order of the expected ones.
"""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[int, int]


def ordered_pairs(rows: Sequence[int], calls: int) -> list[Pair]:
    """Return a longest common subsequence: the pairs keep the order of both sides.

    Source: Hyyrö, Bit-parallel LCS-length computation revisited (2004); a bit of a state is 0
    where the common subsequence grows.
    """
    everything = (1 << calls) - 1
    states = [everything]
    for row in rows:
        state = states[-1]
        states.append((state + (state & row) | state & ~row) & everything)
    pairs: list[Pair] = []
    expected, call = len(rows), calls
    while expected and call:
        bit = 1 << (call - 1)
        if states[expected] & bit:
            call -= 1
        elif states[expected - 1] & bit:
            expected -= 1
            call -= 1
            pairs.append((expected, call))
        else:
            expected -= 1
    pairs.reverse()
    return pairs


def free_pairs(rows: Sequence[int]) -> list[Pair]:
    """Return a maximum matching: each call stands for one expected call at most, order is free.

    Where every call that fits is taken, the calls that took them make room if they can.
    Source: Berge, Two theorems in graph theory (1957), by breadth-first augmenting paths.
    """
    expected_by_call: dict[int, int] = {}
    taken = 0
    for expected, row in enumerate(rows):
        if free := row & ~taken:
            bit = free & -free
            expected_by_call[bit] = expected
            taken |= bit
        elif row:
            taken |= _make_room(rows, expected, taken, expected_by_call)
    pairs = [(expected, bit.bit_length() - 1) for bit, expected in expected_by_call.items()]
    return sorted(pairs)


def _make_room(
    rows: Sequence[int], start: int, taken: int, expected_by_call: dict[int, int]
) -> int:
    """Pair `start`, others moving to calls that fit them too; return the bit newly taken, or 0."""
    came_from: dict[int, int] = {}
    seen = 0
    queue = [start]
    for expected in queue:
        new = rows[expected] & ~seen
        seen |= new
        while new:
            bit = new & -new
            new ^= bit
            came_from[bit] = expected
            if not bit & taken:
                _move(bit, start, came_from, expected_by_call)
                return bit
            queue.append(expected_by_call[bit])
    return 0


def _move(
    bit: int, start: int, came_from: dict[int, int], expected_by_call: dict[int, int]
) -> None:
    """Walk the path back from a free call, giving each call on it to the one that came for it."""
    call_by_expected = {expected: call for call, expected in expected_by_call.items()}
    while True:
        expected = came_from[bit]
        left = call_by_expected.get(expected)
        expected_by_call[bit] = expected
        if expected == start or left is None:
            return
        bit = left
