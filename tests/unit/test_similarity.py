"""The similarity functions: edge cases, and what holds for all sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.similarity import (
    dice,
    jaccard,
    lcs_length,
    lcs_ratio,
    levenshtein,
    multiset_jaccard,
    overlap,
)

Similarity = Callable[[Sequence[Hashable], Sequence[Hashable]], float]

ALL: list[Similarity] = [jaccard, multiset_jaccard, overlap, dice, levenshtein, lcs_ratio]
ITEMS = st.lists(st.sampled_from(["a", "b", "c", 1, 1.5, -1, -2, None, ("a", 1)]), max_size=8)
EVERY = pytest.mark.parametrize("similarity", ALL, ids=lambda similarity: similarity.__name__)


@EVERY
@given(a=ITEMS, b=ITEMS)
def test_it_is_symmetric_and_between_0_and_1(
    similarity: Similarity, a: list[Hashable], b: list[Hashable]
) -> None:
    value = similarity(a, b)
    assert 0.0 <= value <= 1.0
    assert value == similarity(b, a)


@EVERY
@given(a=ITEMS)
def test_a_sequence_is_like_itself(similarity: Similarity, a: list[Hashable]) -> None:
    assert similarity(a, list(a)) == 1.0


@EVERY
@given(a=ITEMS)
def test_an_empty_sequence_is_like_another_empty_one_alone(
    similarity: Similarity, a: list[Hashable]
) -> None:
    assert similarity([], a) == similarity(a, []) == (0.0 if a else 1.0)


@EVERY
@given(text=st.text(max_size=8), other=st.text(max_size=8))
def test_a_text_is_the_list_of_its_characters(
    similarity: Similarity, text: str, other: str
) -> None:
    assert similarity(text, other) == similarity(list(text), list(other))
    assert similarity(text, other) == similarity(list(text), other)


@given(a=ITEMS, b=ITEMS)
def test_what_is_equal_but_for_order_has_the_same_bag(a: list[Hashable], b: list[Hashable]) -> None:
    assert (multiset_jaccard(a, b) == 1.0) == (Counter(a) == Counter(b))


@given(a=ITEMS, b=ITEMS)
def test_only_equal_sets_are_alike(a: list[Hashable], b: list[Hashable]) -> None:
    assert (jaccard(a, b) == 1.0) == (set(a) == set(b))
    assert (dice(a, b) == 1.0) == (set(a) == set(b))


@given(a=ITEMS, b=ITEMS)
def test_only_equal_sequences_have_no_edits_between_them(
    a: list[Hashable], b: list[Hashable]
) -> None:
    assert (levenshtein(a, b) == 1.0) == (a == b)
    assert (lcs_ratio(a, b) == 1.0) == (a == b)


@given(a=ITEMS, b=ITEMS)
def test_edit_distance_agrees_with_the_textbook(a: list[Hashable], b: list[Hashable]) -> None:
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (left != right))
    longest = max(len(a), len(b))
    assert levenshtein(a, b) == pytest.approx(1 - row[-1] / longest if longest else 1.0)


@pytest.mark.parametrize(
    ("similarity", "a", "b", "value"),
    [
        (jaccard, "aab", "abb", 1.0),
        (jaccard, ["a", "b"], ["b", "c"], 1 / 3),
        (multiset_jaccard, "aab", "abb", 0.5),
        (overlap, ["a"], ["a", "b", "c"], 1.0),
        (overlap, ["a", "x"], ["a", "b", "c"], 0.5),
        (dice, "night", "nacht", 0.6),
        (dice, ["a", "a", "b"], ["a"], 2 / 3),
        (levenshtein, "kitten", "sitting", 1 - 3 / 7),
        (levenshtein, ["a", "b", "c"], ["a", "c"], 2 / 3),
        (levenshtein, [-1], [-2], 0.0),
        (levenshtein, "👩‍🚀", "👨‍🚀", 2 / 3),
        (lcs_ratio, "abcd", "acxd", 0.75),
    ],
)
def test_known_values(
    similarity: Similarity, a: Sequence[Hashable], b: Sequence[Hashable], value: float
) -> None:
    assert similarity(a, b) == pytest.approx(value)


def test_the_longest_common_subsequence_allows_gaps() -> None:
    assert lcs_length(["search", "log", "read"], ["search", "read"]) == 2
