"""Similarity of two sequences in [0, 1]; every function is symmetric unless it says otherwise.

All take any sequences of hashable items: tool names, words, characters of a text. Two empty
sequences are alike (1.0); an empty and a non-empty one have nothing in common (0.0).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from rapidfuzz.distance import LCSseq, Levenshtein


def jaccard(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Items in both, divided by items in either; how often an item occurs does not count."""
    left, right = set(a), set(b)
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def multiset_jaccard(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Jaccard where repeats count: the smaller counts' sum divided by the larger counts' sum."""
    left, right = Counter(a), Counter(b)
    union = (left | right).total()
    return (left & right).total() / union if union else 1.0


def overlap(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Items in both, divided by the items of the smaller set: 1.0 where one set holds the other.

    Source: Szymkiewicz-Simpson coefficient.
    """
    left, right = set(a), set(b)
    if not left or not right:
        return 1.0 if left == right else 0.0
    return len(left & right) / min(len(left), len(right))


def dice(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Twice the items in both, divided by the items of each: the F1 of the two sets.

    Source: Sørensen-Dice coefficient.
    """
    left, right = set(a), set(b)
    size = len(left) + len(right)
    return 2 * len(left & right) / size if size else 1.0


def levenshtein(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """1 minus the edit distance (insert, delete, replace) divided by the longer length."""
    return Levenshtein.normalized_similarity(*_interned(a, b))


def lcs_ratio(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Twice the longest common subsequence divided by both lengths: 1.0 only if equal."""
    size = len(a) + len(b)
    return 2 * LCSseq.similarity(*_interned(a, b)) / size if size else 1.0


def lcs_length(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence: same order, gaps allowed."""
    return LCSseq.similarity(*_interned(a, b))


def _interned(
    a: Sequence[Hashable], b: Sequence[Hashable]
) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
    """Both sequences with each distinct item as a number.

    rapidfuzz compares items of a list by hash and strings by code point, so that a text and a
    list of its characters, or two items of equal hash, would be taken for something else.
    """
    if isinstance(a, str) and isinstance(b, str):
        return a, b
    numbers: dict[Hashable, int] = {}
    return (
        [numbers.setdefault(item, len(numbers)) for item in a],
        [numbers.setdefault(item, len(numbers)) for item in b],
    )
