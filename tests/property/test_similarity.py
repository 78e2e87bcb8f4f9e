"""Similarity of any two sequences: in [0, 1], 1 for equal ones, the same from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury import similarity

Measure = Callable[[Sequence[Hashable], Sequence[Hashable]], float]
SYMMETRIC: list[Measure] = [
    similarity.jaccard,
    similarity.multiset_jaccard,
    similarity.overlap,
    similarity.multiset_overlap,
    similarity.dice,
    similarity.multiset_dice,
    similarity.f1,
    similarity.levenshtein,
    similarity.osa,
    similarity.damerau_levenshtein,
    similarity.lcs_ratio,
    similarity.lcs_of_longer,
]
ONE_SIDED: list[Measure] = [similarity.precision, similarity.recall, similarity.lcs_recall]
UNORDERED = SYMMETRIC[:7]
STRICT: list[Measure] = [
    similarity.levenshtein,
    similarity.osa,
    similarity.damerau_levenshtein,
    similarity.lcs_ratio,
    similarity.lcs_of_longer,
]
ITEMS = st.lists(st.sampled_from(["a", "b", "c", 1, 1.5, None, ("a",)]), max_size=8)
TEXTS = st.text(st.sampled_from("abc \u0301é😀"), max_size=8)
SEQUENCES: st.SearchStrategy[Sequence[Hashable]] = st.one_of(ITEMS, TEXTS)


@pytest.mark.parametrize("measure", [*SYMMETRIC, *ONE_SIDED], ids=lambda m: m.__name__)
@given(a=SEQUENCES, b=SEQUENCES)
def test_a_similarity_is_a_number_from_0_to_1(
    measure: Measure, a: Sequence[Hashable], b: Sequence[Hashable]
) -> None:
    assert 0 <= measure(a, b) <= 1


@pytest.mark.parametrize("measure", [*SYMMETRIC, *ONE_SIDED], ids=lambda m: m.__name__)
@given(a=SEQUENCES)
def test_a_sequence_is_like_itself(measure: Measure, a: Sequence[Hashable]) -> None:
    assert measure(a, list(a)) == 1


@pytest.mark.parametrize("measure", SYMMETRIC, ids=lambda m: m.__name__)
@given(a=SEQUENCES, b=SEQUENCES)
def test_a_similarity_is_the_same_from_both_sides(
    measure: Measure, a: Sequence[Hashable], b: Sequence[Hashable]
) -> None:
    assert math.isclose(measure(a, b), measure(b, a), abs_tol=1e-12)


@pytest.mark.parametrize("measure", STRICT, ids=lambda m: m.__name__)
@given(a=SEQUENCES, b=SEQUENCES)
def test_only_equal_sequences_are_wholly_alike_where_order_counts(
    measure: Measure, a: Sequence[Hashable], b: Sequence[Hashable]
) -> None:
    assert (measure(a, b) == 1) == (list(a) == list(b))


@pytest.mark.parametrize("measure", UNORDERED, ids=lambda m: m.__name__)
@given(a=st.lists(st.sampled_from("abc"), max_size=4), b=ITEMS)
def test_order_does_not_count_for_sets(measure: Measure, a: list[str], b: list[str]) -> None:
    assert len({measure(order, b) for order in permutations(a)}) == 1


@pytest.mark.parametrize("measure", [*SYMMETRIC, *ONE_SIDED], ids=lambda m: m.__name__)
@given(items=st.lists(st.sampled_from("abc"), min_size=1))
def test_something_is_not_like_nothing(measure: Measure, items: list[str]) -> None:
    assert measure(items, []) == 0


@given(a=SEQUENCES, b=SEQUENCES)
def test_the_distance_is_what_the_similarity_is_made_of(
    a: Sequence[Hashable], b: Sequence[Hashable]
) -> None:
    longer = max(len(a), len(b))
    distance = similarity.levenshtein_distance(a, b)
    wanted = 1 - distance / longer if longer else 1.0
    assert math.isclose(similarity.levenshtein(a, b), wanted, abs_tol=1e-12)


@given(a=ITEMS, b=ITEMS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(a: list[str], b: list[str]) -> None:
    precision, recall = similarity.precision(a, b), similarity.recall(a, b)
    if a and b:
        mean = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        assert math.isclose(similarity.f1(a, b), mean, abs_tol=1e-12)


@given(items=SEQUENCES, n=st.integers(1, 4))
def test_ngrams_hold_every_item_in_its_place(items: Sequence[Hashable], n: int) -> None:
    grams = similarity.ngrams(items, n)
    assert len(grams) == (max(1, len(items) - n + 1) if items else 0)
    for start, gram in enumerate(grams):
        assert isinstance(gram, (str, tuple))
        assert list(gram) == list(items[start : start + n])


def test_ngrams_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="n is at least 1, not 0"):
        similarity.ngrams("abc", 0)
