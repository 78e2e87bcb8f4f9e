"""Agreement of two judges: the published figures, what nothing can be said of, and coverage."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.result import VERDICTS, Verdict
from tracejury_collector.agreement import Pair, agreement, corrected_pass_rate, kappa
from tracejury_collector.intervals import Share, effective_n, share_of, wilson

verdicts = st.sampled_from(VERDICTS)
pair_lists = st.lists(
    st.builds(
        Pair,
        target_id=st.uuids().map(str),
        judged=verdicts,
        truth=verdicts,
        weight=st.floats(1, 1e6),
    ),
    max_size=60,
)


def pairs(*counts: tuple[Verdict, Verdict, int]) -> list[Pair]:
    return [
        Pair(target_id=f"{judged}-{truth}-{n}", judged=judged, truth=truth)
        for judged, truth, count in counts
        for n in range(count)
    ]


def test_wilson_gives_the_published_intervals() -> None:
    # Newcombe, Stat. Med. 17 (1998) 857, table I, method 3.
    for part, whole, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        found = share_of(part, whole)
        assert found is not None
        assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.floats(0, 1), st.floats(0.01, 1e9))
def test_an_interval_holds_its_share_and_is_never_without_width(value: float, n: float) -> None:
    found = wilson(value, n)
    assert 0 <= found.low < found.high <= 1
    assert found.low <= value + 1e-12
    assert value <= found.high + 1e-12


def test_nothing_has_no_share() -> None:
    assert share_of(0, 0) is None


def test_equal_weights_count_in_full_and_one_large_weight_counts_as_one() -> None:
    assert effective_n([4.0] * 7) == pytest.approx(7)
    assert effective_n([1e9, 1.0, 1.0]) == pytest.approx(1, abs=1e-6)
    assert effective_n([]) == 0


def test_kappa_gives_the_published_figure() -> None:
    # Fleiss, Statistical Methods for Rates and Proportions (1981), table 13.1: 0.676.
    table = [(75, 1, 4), (5, 4, 1), (0, 0, 10)]
    rated = [(a, b) for a in range(3) for b in range(3) for _ in range(table[a][b])]
    found = kappa(rated)
    assert found is not None
    assert round(found, 3) == 0.676


def test_kappa_is_one_for_the_same_zero_by_chance_and_minus_one_for_the_opposite() -> None:
    assert kappa([("a", "a"), ("b", "b")]) == 1
    assert kappa([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]) == 0
    assert kappa([("a", "b"), ("b", "a")]) == -1


@pytest.mark.parametrize("same", [[], [("pass", "pass")] * 9])
def test_kappa_says_nothing_of_judges_that_never_differ(same: list[tuple[str, str]]) -> None:
    assert kappa(same) is None


@given(st.lists(st.tuples(verdicts, verdicts), max_size=40))
def test_kappa_is_symmetric_and_bounded(rated: list[tuple[Verdict, Verdict]]) -> None:
    found = kappa(rated)
    assert found == kappa([(b, a) for a, b in rated])
    assert found is None or -1 <= found <= 1


def test_precision_and_recall_are_about_what_does_not_pass() -> None:
    found = agreement(
        pairs(
            ("fail", "fail", 6),
            ("partial", "fail", 2),
            ("fail", "pass", 2),
            ("pass", "partial", 8),
            ("pass", "pass", 32),
        )
    )
    assert found.n == 50
    confusion = found.confusion
    assert (confusion.rightly_found, confusion.wrongly_found) == (8, 2)
    assert (confusion.missed, confusion.rightly_passed) == (8, 32)
    assert found.precision == share_of(8, 10)
    assert found.recall == share_of(8, 16)
    assert found.agreed == share_of(40, 50)
    assert found.kappa == pytest.approx((0.8 - 0.608) / (1 - 0.608))
    assert len(found.differing) == 10
    assert found.differing[0] == "fail-pass-0"


def test_of_no_pairs_nothing_is_said() -> None:
    found = agreement([])
    assert found.n == 0
    assert (found.agreed, found.precision, found.recall, found.kappa) == (None,) * 4


@given(pair_lists)
def test_every_pair_is_in_one_cell(given_pairs: list[Pair]) -> None:
    found = agreement(given_pairs)
    c = found.confusion
    assert c.rightly_found + c.wrongly_found + c.missed + c.rightly_passed == found.n
    assert len(found.differing) == c.wrongly_found + c.missed


def test_a_judge_that_is_right_needs_no_correction() -> None:
    judged = wilson(0.9, 1e6)
    found = corrected_pass_rate(pairs(("pass", "pass", 50), ("fail", "fail", 50)), judged)
    assert found is not None
    assert found.value == pytest.approx(0.9)
    assert found.low < 0.9 < found.high


def test_labels_picked_by_verdict_do_not_shift_the_corrected_rate() -> None:
    judged = wilson(0.9, 1e6)
    few_found = pairs(
        ("pass", "pass", 380), ("pass", "fail", 20), ("fail", "fail", 9), ("fail", "pass", 1)
    )
    many_found = pairs(
        ("pass", "pass", 19), ("pass", "fail", 1), ("fail", "fail", 360), ("fail", "pass", 40)
    )
    for labeled in (few_found, many_found):
        found = corrected_pass_rate(labeled, judged)
        assert found is not None
        assert found.value == pytest.approx(0.9 * 0.95 + 0.1 * 0.1)


def test_traffic_without_a_label_leaves_the_rate_unknown() -> None:
    only_passed = pairs(("pass", "pass", 10))
    assert corrected_pass_rate(only_passed, wilson(0.9, 100)) is None
    assert corrected_pass_rate([], wilson(1.0, 100)) is None
    found = corrected_pass_rate(only_passed, wilson(1.0, 100))
    assert found is not None
    assert found.value == 1
    assert 0 < found.low < 1


def test_a_heavy_pair_counts_as_the_traffic_that_it_stands_for() -> None:
    labeled = [
        Pair(target_id="a", judged="pass", truth="pass", weight=30),
        Pair(target_id="b", judged="pass", truth="fail", weight=10),
    ]
    found = corrected_pass_rate(labeled, Share(value=1.0, low=0.99, high=1.0))
    assert found is not None
    assert found.value == pytest.approx(0.75)


@given(pair_lists, st.floats(0, 1), st.floats(1, 1e6))
def test_a_corrected_rate_is_a_share_within_its_interval(
    given_pairs: list[Pair], rate: float, n: float
) -> None:
    found = corrected_pass_rate(given_pairs, wilson(rate, n))
    if found is not None:
        assert 0 <= found.low <= found.value + 1e-12
        assert found.value <= found.high + 1e-12 <= 1 + 2e-12
        assert found.high - found.low > 0


def test_the_interval_of_the_corrected_rate_covers_the_truth() -> None:
    rng = random.Random(7)
    covered = naive = 0
    rounds = 1000
    for _ in range(rounds):
        truth, labeled, passed = 0.85, [], 0
        for n in range(600):
            good = rng.random() < truth
            said = rng.random() < (0.95 if good else 0.4)
            passed += said
            if rng.random() < (0.1 if said else 0.4):
                labeled.append(_pair(n, said=said, good=good))
        found = corrected_pass_rate(labeled, wilson(passed / 600, 600))
        assert found is not None
        covered += found.low <= truth <= found.high
        of_labels = share_of(sum(p.truth == "pass" for p in labeled), len(labeled))
        assert of_labels is not None
        naive += of_labels.low <= truth <= of_labels.high
    assert covered >= 0.93 * rounds
    assert naive < 0.5 * rounds


def _pair(number: int, *, said: bool, good: bool) -> Pair:
    return Pair(
        target_id=str(number),
        judged="pass" if said else "fail",
        truth="pass" if good else "fail",
    )


def test_shares_are_plain_numbers() -> None:
    found = share_of(1, 3)
    assert found is not None
    assert all(math.isfinite(x) for x in (found.value, found.low, found.high))
