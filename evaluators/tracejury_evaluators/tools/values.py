"""When two values of arguments or outputs are the same data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

SCALARS = frozenset({str, int, float, bool, type(None)})
SORTED = orjson.OPT_SORT_KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """By how much two numbers may differ: absolutely, or as a share of the larger one."""

    absolute: float = 0.0
    relative: float = 0.0

    def close(self, a: float, b: float) -> bool:
        """Whether the numbers differ by no more than that."""
        if a == b:
            return True
        try:
            return math.isclose(a, b, rel_tol=self.relative, abs_tol=self.absolute)
        except OverflowError:  # a whole number beyond every float
            return False


EXACT = Closeness()


def closeness_of(absolute: float, relative: float) -> Closeness:
    """By how much numbers may differ; not at all is `EXACT` itself, which `same` looks for."""
    if not absolute and not relative:
        return EXACT
    return Closeness(absolute=absolute, relative=relative)


def same(a: Any, b: Any, closeness: Closeness = EXACT) -> bool:
    """Whether both are the same JSON data: 1 is 1.0, true is not 1, the order of keys is free.

    Numbers may differ by `closeness`, at any depth.
    """
    if closeness is EXACT:
        if a != b:
            return False
        if (type(a) is type(b) and type(a) in SCALARS) or _same_text(a, b):
            return True
    return _walked(a, b, closeness)


def _same_text(a: Any, b: Any) -> bool:
    """Whether values that Python calls equal are written the same: surely the same, and fast."""
    try:
        return orjson.dumps(a, option=SORTED) == orjson.dumps(b, option=SORTED)
    except TypeError:  # whole numbers over 64 bits, lone surrogates
        return False


def _walked(a: Any, b: Any, closeness: Closeness) -> bool:
    if type(a) is type(b) and type(a) in SCALARS and a == b:
        return True
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return closeness.close(a, b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_walked(a[key], b[key], closeness) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_walked, a, b, [closeness] * len(a)))
    return bool(a == b)
