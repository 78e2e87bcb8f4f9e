"""Similarity of two sequences in [0, 1]; every function is symmetric unless it says otherwise.

All take any sequences of hashable items: tool names, words, characters of a text. Two empty
sequences are alike (1.0); an empty and a non-empty one have nothing in common (0.0).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from rapidfuzz.distance import OSA, DamerauLevenshtein, LCSseq, Levenshtein

__all__ = [
    "damerau_levenshtein",
    "dice",
    "f1",
    "jaccard",
    "lcs_length",
    "lcs_of_longer",
    "lcs_ratio",
    "lcs_recall",
    "levenshtein",
    "levenshtein_distance",
    "multiset_dice",
    "multiset_jaccard",
    "multiset_overlap",
    "ngrams",
    "osa",
    "overlap",
    "precision",
    "recall",
    "words",
]

Items = Sequence[Hashable]


def words(text: str) -> list[str]:
    """The words of a text: what white space separates, case and punctuation kept."""
    return text.split()


def ngrams(items: Items, n: int) -> list[Hashable]:
    """The runs of `n` items that follow each other: texts of a text, else tuples.

    A sequence shorter than `n` is its own only run, so that short texts can still differ; an
    empty one has none.
    Raises: ValueError where n is below 1.
    """
    if n < 1:
        raise ValueError(f"n is at least 1, not {n!r}")
    if not items:
        return []
    starts = range(max(1, len(items) - n + 1))
    if isinstance(items, str):
        return [items[start : start + n] for start in starts]
    return [tuple(items[start : start + n]) for start in starts]


def jaccard(a: Items, b: Items) -> float:
    """Items in both, divided by items in either; how often an item occurs does not count.

    Source: Jaccard index.
    """
    left, right = set(a), set(b)
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def multiset_jaccard(a: Items, b: Items) -> float:
    """Jaccard where repeats count: the smaller counts' sum divided by the larger counts' sum."""
    left, right = Counter(a), Counter(b)
    union = (left | right).total()
    return (left & right).total() / union if union else 1.0


def overlap(a: Items, b: Items) -> float:
    """Items in both, divided by the items of the smaller set: 1.0 where one set holds the other.

    Source: Szymkiewicz-Simpson coefficient.
    """
    left, right = set(a), set(b)
    return _part(len(left & right), len(left), len(right), min(len(left), len(right)))


def multiset_overlap(a: Items, b: Items) -> float:
    """Overlap where repeats count: the smaller counts' sum divided by the shorter length."""
    return _part(_common(a, b), len(a), len(b), min(len(a), len(b)))


def dice(a: Items, b: Items) -> float:
    """Twice the items in both, divided by the items of each: the F1 of the two sets.

    Source: Sørensen-Dice coefficient.
    """
    left, right = set(a), set(b)
    size = len(left) + len(right)
    return 2 * len(left & right) / size if size else 1.0


def multiset_dice(a: Items, b: Items) -> float:
    """Dice where repeats count: twice the smaller counts' sum divided by both lengths."""
    size = len(a) + len(b)
    return 2 * _common(a, b) / size if size else 1.0


def precision(expected: Items, actual: Items) -> float:
    """The share of the actual items that were expected, repeats counted. Not symmetric.

    Nothing actual is precise (1.0) only where nothing was expected.
    """
    return _part(_common(expected, actual), len(expected), len(actual), len(actual))


def recall(expected: Items, actual: Items) -> float:
    """The share of the expected items that are there, repeats counted. Not symmetric.

    Where nothing was expected, nothing can be missing: 1.0.
    """
    return _common(expected, actual) / len(expected) if expected else 1.0


def f1(expected: Items, actual: Items) -> float:
    """The harmonic mean of precision and recall, repeats counted: `multiset_dice`."""
    return multiset_dice(expected, actual)


def levenshtein(a: Items, b: Items) -> float:
    """1 minus the edit distance (insert, delete, replace) divided by the longer length.

    Source: Levenshtein 1966.
    """
    return Levenshtein.normalized_similarity(*_interned(a, b))


def levenshtein_distance(a: Items, b: Items) -> int:
    """The fewest insertions, deletions and replacements that make one into the other."""
    return Levenshtein.distance(*_interned(a, b))


def osa(a: Items, b: Items) -> float:
    """Levenshtein where two neighbors that changed places are one edit, each place edited once.

    Source: optimal string alignment, the restricted Damerau-Levenshtein distance.
    """
    return OSA.normalized_similarity(*_interned(a, b))


def damerau_levenshtein(a: Items, b: Items) -> float:
    """Levenshtein where two neighbors that changed places are one edit, whatever else changes.

    Source: Damerau 1964, Lowrance and Wagner 1975.
    """
    return DamerauLevenshtein.normalized_similarity(*_interned(a, b))


def lcs_length(a: Items, b: Items) -> int:
    """Length of the longest common subsequence: same order, gaps allowed."""
    return LCSseq.similarity(*_interned(a, b))


def lcs_ratio(a: Items, b: Items) -> float:
    """Twice the longest common subsequence divided by both lengths: 1.0 only if equal."""
    size = len(a) + len(b)
    return 2 * lcs_length(a, b) / size if size else 1.0


def lcs_of_longer(a: Items, b: Items) -> float:
    """The longest common subsequence divided by the longer length: 1.0 only if equal."""
    size = max(len(a), len(b))
    return lcs_length(a, b) / size if size else 1.0


def lcs_recall(expected: Items, actual: Items) -> float:
    """The share of the expected items that come in their order, gaps allowed. Not symmetric.

    Where nothing was expected, nothing can be missing: 1.0.
    """
    return lcs_length(expected, actual) / len(expected) if expected else 1.0


def _common(a: Items, b: Items) -> int:
    return (Counter(a) & Counter(b)).total()


def _part(common: int, left: int, right: int, whole: int) -> float:
    """The common items' share of a whole; two empty sides are alike, one empty side is not."""
    if not left or not right:
        return float(left == right)
    return common / whole


def _interned(a: Items, b: Items) -> tuple[Items, Items]:
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
