"""`tool-sequence` against the plain formulas of its modes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.evaluator import run_evaluator
from tracejury.result import Score
from tracejury.testing import make_tool_call, make_trace
from tracejury_evaluators.tools import ToolSequence

Calls = list[tuple[str, int]]
CALLS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=6)


def common(a: Calls, b: Calls) -> int:
    """The length of the longest common subsequence, by its definition."""
    if not a or not b:
        return 0
    if a[0] == b[0]:
        return 1 + common(a[1:], b[1:])
    return max(common(a[1:], b), common(a, b[1:]))


def shared(a: Calls, b: Calls) -> int:
    return (Counter(a) & Counter(b)).total()


def share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


FORMULAS = {
    "exact": lambda r, a: share(2 * common(r, a), len(r) + len(a)),
    "in_order": lambda r, a: share(common(r, a), len(r)),
    "any_order": lambda r, a: share(2 * shared(r, a), len(r) + len(a)),
    "contains_expected": lambda r, a: share(shared(r, a), len(r)),
    "within_expected": lambda r, a: share(shared(r, a), len(a)),
}


@pytest.mark.parametrize("mode", FORMULAS)
@given(expected=CALLS, made=CALLS)
def test_a_mode_is_its_formula(mode: Any, expected: Calls, made: Calls) -> None:
    trace = make_trace(tool_calls=[make_tool_call(name, {"n": n}) for name, n in made])
    criteria = {"expected": [{"name": name, "args": {"n": n}} for name, n in expected]}
    graded = run_evaluator(ToolSequence(mode=mode), trace, criteria)
    boolean = run_evaluator(ToolSequence(mode=mode, score="boolean"), trace, criteria)
    assert isinstance(graded, Score)
    assert isinstance(boolean, Score)
    assert graded.value == pytest.approx(FORMULAS[mode](expected, made), abs=1e-9)
    assert boolean.value == float(graded.value == 1)
