"""Pass rates from samples: weights, intervals with width, and clusters."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury_collector.estimates import Estimate, Judged, estimate, moments
from tracejury_collector.intervals import t_quantile

judged_lists = st.lists(
    st.builds(
        Judged,
        passes=st.booleans(),
        weight=st.floats(1, 1e9),
        cluster=st.sampled_from("abcdefgh"),
        stratum=st.sampled_from(["", "errors"]),
    ),
    min_size=1,
    max_size=50,
)


def estimated(judged: Sequence[Judged]) -> Estimate:
    found = estimate(moments(judged))
    assert found is not None
    return found


def even(passed: int, failed: int, weight: float = 1.0) -> list[Judged]:
    """Return targets with equal weights, each drawn by itself."""
    verdicts = [True] * passed + [False] * failed
    return [Judged(passes=v, weight=weight, cluster=str(n)) for n, v in enumerate(verdicts)]


def test_nothing_judged_has_no_pass_rate() -> None:
    assert estimate(moments([])) is None


def test_each_target_counts_for_what_it_stands_for() -> None:
    errors = [Judged(passes=False, weight=1, cluster=f"e{n}", stratum="errors") for n in range(90)]
    usual = [Judged(passes=True, weight=100, cluster=f"u{n}") for n in range(9)]
    assert estimated([*errors, *usual]).share.value == pytest.approx(900 / 990)


@pytest.mark.parametrize("n", [1, 2, 5, 1000])
def test_an_interval_keeps_its_width_where_all_pass_or_none(n: int) -> None:
    share = estimated(even(n, 0)).share
    assert share.value == share.high == 1
    assert share.low < 1 - 2 / (n + 4)
    assert estimated(even(0, n)).share.high == pytest.approx(1 - share.low)


def test_weights_that_are_all_the_same_change_nothing() -> None:
    one, many = estimated(even(30, 10)).share, estimated(even(30, 10, weight=250)).share
    assert (one.value, one.low, one.high) == pytest.approx((many.value, many.low, many.high))


def test_few_heavy_targets_that_agree_do_not_look_certain() -> None:
    errors = [Judged(passes=False, weight=1, cluster=f"e{n}", stratum="errors") for n in range(100)]
    usual = [Judged(passes=True, weight=100, cluster=f"u{n}") for n in range(5)]
    found = estimated([*errors, *usual])
    assert found.effective_n < 10
    assert found.share.low < 0.55


def test_turns_of_one_session_tell_less_than_as_many_sessions() -> None:
    apart = even(160, 40)
    together = [
        Judged(passes=j.passes, weight=1, cluster=str(n // 10)) for n, j in enumerate(apart)
    ]
    assert estimated(apart).effective_n == pytest.approx(200, rel=0.05)
    assert estimated(together).effective_n < 30


def test_one_session_alone_counts_as_one_draw() -> None:
    turns = [Judged(passes=n % 2 == 0, weight=3, cluster="s") for n in range(40)]
    found = estimated(turns)
    assert found.effective_n == pytest.approx(1)
    assert found.share.high - found.share.low > 0.8


def test_two_sessions_that_happen_to_agree_do_not_look_certain() -> None:
    turns = [Judged(passes=n % 2 == 0, weight=1, cluster="st"[n // 20]) for n in range(40)]
    found = estimated(turns)
    assert found.effective_n == pytest.approx(2)
    assert found.share.high - found.share.low > 0.6


@given(judged_lists)
def test_an_estimate_lies_in_its_interval_and_the_interval_in_the_range(
    judged: list[Judged],
) -> None:
    found = estimated(judged)
    share = found.share
    assert 0 <= share.low <= share.value + 1e-9
    assert share.value - 1e-9 <= share.high <= 1
    assert share.high - share.low > 0
    assert 0 < found.effective_n <= len(judged) * (1 + 1e-9)


@given(judged_lists)
def test_the_order_of_the_targets_does_not_matter(judged: list[Judged]) -> None:
    again = estimated(judged[::-1]).share
    share = estimated(judged).share
    assert (again.value, again.low, again.high) == pytest.approx(
        (share.value, share.low, share.high)
    )


def test_quantiles_of_t_are_those_of_the_tables() -> None:
    for freedom, table in [(2, 4.3027), (3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423)]:
        assert t_quantile(freedom) == pytest.approx(table, rel=0.01)
    assert t_quantile(1e9) == pytest.approx(1.959964, rel=1e-6)
    assert t_quantile(0) == t_quantile(2)
