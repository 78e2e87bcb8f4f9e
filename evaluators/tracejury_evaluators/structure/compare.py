"""How alike two JSON values are, part by part."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from rapidfuzz.distance import Levenshtein

from tracejury_evaluators.json_text import kind_of
from tracejury_evaluators.structure.assignment import best_pairs

MAX_COMPARISONS = 200_000
MAX_PAIRED = 100
MAX_STRING_CHARS = 20_000
MAX_MISSES = 20
MISSING: Any = object()


class TooLarge(Exception):
    """The values take more comparisons than can be made; the message says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What counts as alike; see the config of `json-similarity`."""

    weigh: Literal["leaves", "levels"] = "leaves"
    extra: Literal["counted", "free"] = "counted"
    lists: Literal["position", "assignment"] = "position"
    numbers: Literal["relative", "symmetric", "exact"] = "relative"
    strings: Literal["levenshtein", "exact"] = "levenshtein"
    case_sensitive: bool = True
    abs_tolerance: float = 0.0
    rel_tolerance: float = 0.0
    true_is_one: bool = False
    null_is_missing: bool = False
    json_strings: bool = False
    unlike: Literal["zero", "text"] = "zero"


@dataclass(frozen=True, slots=True)
class Match:
    """How much of a value was matched: `matched` of `total` leaves."""

    matched: float
    total: float

    @property
    def share(self) -> float:
        """The similarity in [0, 1]; a value of no leaves is matched."""
        return self.matched / self.total if self.total else 1.0


@dataclass(slots=True)
class Comparison:
    """One comparison of two values, with the places where they differ."""

    rules: Rules
    misses: list[str] = field(default_factory=list)
    made: int = 0
    _silent: int = 0

    def compare(self, expected: Any, actual: Any, path: str = "$") -> Match:
        """How much of `expected` is in `actual`; both nested no deeper than 64 levels.

        Raises: TooLarge where that takes too many comparisons.
        """
        self.made += 1
        if self.made > MAX_COMPARISONS:
            raise TooLarge(f"the data takes more than {MAX_COMPARISONS} comparisons")
        if self.rules.json_strings:
            expected, actual = _read(expected), _read(actual)
        if self.rules.null_is_missing:
            expected = None if expected is MISSING else expected
            actual = None if actual is MISSING else actual
        if expected is MISSING or actual is MISSING:
            return self._absent(expected, actual, path)
        if isinstance(expected, dict) and isinstance(actual, dict) and (expected or actual):
            return self._objects(expected, actual, path)
        if isinstance(expected, list) and isinstance(actual, list) and (expected or actual):
            return self._arrays(expected, actual, path)
        share = self._leaf(expected, actual)
        if share < 1:
            self._miss(f"{path}: {_shown(actual)} instead of {_shown(expected)}")
        return self._whole(expected, actual, share)

    def _absent(self, expected: Any, actual: Any, path: str) -> Match:
        if actual is MISSING:
            self._miss(f"{path}: missing, {_shown(expected)} was expected")
        else:
            self._miss(f"{path}: {_shown(actual)} was not expected")
        return self._whole(expected, actual, 0.0)

    def _whole(self, expected: Any, actual: Any, share: float) -> Match:
        """A value that is matched as one; it weighs as many leaves as it has."""
        if self.rules.weigh == "levels":
            return Match(share, 1.0)
        sides = [expected, actual] if self.rules.extra == "counted" else [expected]
        total = max(leaves(side) for side in sides if side is not MISSING)
        return Match(share * total, total)

    def _objects(self, expected: dict[str, Any], actual: dict[str, Any], path: str) -> Match:
        keys = list(expected)
        if self.rules.extra == "counted":
            keys += [key for key in actual if key not in expected]
        return self._level(
            self.compare(
                expected.get(key, MISSING), actual.get(key, MISSING), f"{path}{_step(key)}"
            )
            for key in keys
        )

    def _arrays(self, expected: list[Any], actual: list[Any], path: str) -> Match:
        return self._level(
            self.compare(one, other, f"{path}[{index}]")
            for index, (one, other) in enumerate(self._paired(expected, actual))
            if one is not MISSING or self.rules.extra == "counted"
        )

    def _paired(self, expected: list[Any], actual: list[Any]) -> Iterator[tuple[Any, Any]]:
        """The items of both lists in pairs, those left over with nothing."""
        partners = self._partners(expected, actual)
        yield from (
            (one, MISSING if partner is None else actual[partner])
            for one, partner in zip(expected, partners, strict=True)
        )
        used = set(partners)
        yield from ((MISSING, other) for index, other in enumerate(actual) if index not in used)

    def _partners(self, expected: list[Any], actual: list[Any]) -> list[int | None]:
        """For each expected item the index of the actual one that it is compared with."""
        if self.rules.lists == "position":
            return [index if index < len(actual) else None for index in range(len(expected))]
        if max(len(expected), len(actual)) > MAX_PAIRED:
            raise TooLarge(f"lists of more than {MAX_PAIRED} items cannot be paired")
        self._silent += 1
        try:
            shares = [[self.compare(one, other).share for other in actual] for one in expected]
        finally:
            self._silent -= 1
        return best_pairs(shares, len(actual))

    def _level(self, matches: Iterator[Match]) -> Match:
        """The matches of one object or list as one."""
        made = list(matches)
        if self.rules.weigh == "levels":
            return Match(math.fsum(m.share for m in made) / len(made) if made else 1.0, 1.0)
        return Match(math.fsum(m.matched for m in made), math.fsum(m.total for m in made))

    def _leaf(self, expected: Any, actual: Any) -> float:
        one, other = (self._as_number(value) for value in (expected, actual))
        kinds = kind_of(one), kind_of(other)
        if kinds == ("number", "number"):
            return self._number(one, other)
        if kinds == ("string", "string"):
            return self._string(one, other)
        if kinds[0] == kinds[1]:
            return float(one == other)
        if self.rules.unlike == "text" and "null" not in kinds:
            return self._string(_written(expected), _written(actual))
        return 0.0

    def _as_number(self, value: Any) -> Any:
        return int(value) if self.rules.true_is_one and isinstance(value, bool) else value

    def _number(self, expected: float, actual: float) -> float:
        if expected == actual:
            return 1.0
        if not (_finite(expected) and _finite(actual)):
            return 0.0
        one, other, unit = _whole_numbers(expected, actual)
        difference, largest = abs(one - other), max(abs(one), abs(other))
        if self._tolerates(difference, largest, unit):
            return 1.0
        if self.rules.numbers == "exact":
            return 0.0
        if self.rules.numbers == "symmetric":
            whole = abs(one) + abs(other)
            return (whole - difference) / whole
        return max(0, abs(one) - difference) / abs(one) if one else 0.0

    def _tolerates(self, difference: int, largest: int, unit: int) -> bool:
        absolute, relative = self.rules.abs_tolerance, self.rules.rel_tolerance
        if not absolute and not relative:
            return False
        return difference <= max(Fraction(absolute) * unit, Fraction(relative) * largest)

    def _string(self, expected: str, actual: str) -> float:
        if not self.rules.case_sensitive:
            expected, actual = expected.casefold(), actual.casefold()
        if expected == actual:
            return 1.0
        longest = max(len(expected), len(actual))
        if self.rules.strings == "exact" or longest > MAX_STRING_CHARS:
            return 0.0
        return Levenshtein.normalized_similarity(expected, actual)

    def _miss(self, text: str) -> None:
        if not self._silent and len(self.misses) < MAX_MISSES:
            self.misses.append(text)


def leaves(value: Any) -> int:
    """How many values without parts it holds; an empty object or list is one itself."""
    if not value or not isinstance(value, (dict, list)):
        return 1
    count = 0
    row: Sequence[Any] = [value]
    while row:
        nested = [item for item in row if isinstance(item, (dict, list)) and item]
        count += len(row) - len(nested)
        row = [
            child
            for item in nested
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return count


def _whole_numbers(expected: float, actual: float) -> tuple[int, int, int]:
    """Both numbers in whole units, and how many units are 1: exact, unlike floats."""
    (one, own), (other, others) = expected.as_integer_ratio(), actual.as_integer_ratio()
    unit = max(own, others)  # both are powers of two
    return one * (unit // own), other * (unit // others), unit


def _finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def _read(value: Any) -> Any:
    """The object or list that a text holds as JSON; any other value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _written(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _step(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key, ensure_ascii=False)}]"


def _shown(value: Any, limit: int = 60) -> str:
    if isinstance(value, (dict, list)):
        kind = "object" if isinstance(value, dict) else "list"
        return f"an {kind} of {len(value)}" if kind == "object" else f"a {kind} of {len(value)}"
    text = json.dumps(value[:limit] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
