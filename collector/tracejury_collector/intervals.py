"""Shares with 95 % intervals that keep their width where all agree or few were seen.

Source: Wilson, J. Am. Stat. Assoc. 22 (1927) 209; Brown, Cai, DasGupta, Stat. Sci. 16 (2001) 101.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution

_T = (
    (Z**3 + Z) / 4,
    (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
    (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
    (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92_160,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share in [0, 1] and its 95 % interval: 0 <= low <= value <= high <= 1, low < high."""

    value: float
    low: float
    high: float


def wilson(value: float, n: float, quantile: float = Z) -> Share:
    """Return the share `value` seen in `n` > 0 observations; `n` may be an effective number."""
    square = quantile * quantile
    center = (value + square / (2 * n)) / (1 + square / n)
    variance = value * (1 - value) / n + square / (4 * n * n)
    half = quantile * math.sqrt(variance) / (1 + square / n)
    return Share(value=value, low=max(0.0, center - half), high=min(1.0, center + half))


def t_quantile(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's t; below 1 % off from 2 degrees of freedom on.

    Source: Abramowitz, Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    d = max(2.0, freedom)
    return Z + (_T[0] + (_T[1] + (_T[2] + _T[3] / d) / d) / d) / d


def share_of(part: int, whole: int) -> Share | None:
    """Return `part` of `whole` as a share; None of nothing."""
    return wilson(part / whole, whole) if whole else None


def effective_n(weights: Sequence[float]) -> float:
    """Return how many equal weights would tell as much as these; 0 for none.

    Source: Kish, Survey Sampling (1965), 11.7.
    """
    squares = math.fsum(w * w for w in weights)
    return math.fsum(weights) ** 2 / squares if squares else 0.0
