"""Sampling is stable, nested, fair, and independent between salts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracejury_collector.sampling import is_sampled, sample_point

ids = st.text("0123456789abcdef", min_size=32, max_size=32)
rates = st.floats(0, 1)
COUNT = 20_000
TRACES = [f"{n:032x}" for n in range(COUNT)]


def share(salt: str, rate: float) -> float:
    return sum(is_sampled(t, salt, rate) for t in TRACES) / COUNT


@given(ids, st.text(), rates, rates)
def test_a_trace_in_the_sample_is_in_that_of_every_higher_rate(
    trace_id: str, salt: str, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert is_sampled(trace_id, salt, high) or not is_sampled(trace_id, salt, low)


@given(ids, st.text())
def test_everything_is_in_the_full_sample_and_nothing_in_the_empty_one(
    trace_id: str, salt: str
) -> None:
    assert is_sampled(trace_id, salt, 1.0)
    assert not is_sampled(trace_id, salt, 0.0)


def test_the_share_is_close_to_the_rate() -> None:
    for rate in (0.01, 0.1, 0.5, 0.9):
        tolerance = 5 * (rate * (1 - rate) / COUNT) ** 0.5
        assert abs(share("production", rate) - rate) < tolerance


def test_rules_sample_independently_of_each_other() -> None:
    both = sum(is_sampled(t, "one", 0.5) and is_sampled(t, "other", 0.5) for t in TRACES)
    assert abs(both / COUNT - 0.25) < 0.02


def test_a_choice_never_changes_between_releases() -> None:
    assert sample_point("0af7651916cd43dd8448eb211c80319c", "production") == 13917051272987149714
