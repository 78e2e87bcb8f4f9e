"""Where in a text something is to be taken out.

A text may be JSON, and texts in it JSON again; a value is found as it reads, and taken out where
it stands, so that everything around it stays as it was and JSON stays JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tracejury_collector.config import ATTRIBUTE
from tracejury_collector.redaction.escapes import Layer, escaped, flat, unescaped
from tracejury_collector.redaction.json_parts import is_json, parts
from tracejury_collector.redaction.kinds import Kind, is_free
from tracejury_collector.redaction.names import Names
from tracejury_evaluators.patterns import AnyOf, matches

SHORTEST_TEXT = 8
"""Bytes with its quotes of the shortest text of JSON that a built-in pattern may match."""
SHORTEST_NUMBER = 13
"""Digits of the shortest number that a built-in pattern may match."""


class Spot(NamedTuple):
    """Bytes to be replaced, the name of what was found there, and what replaces them."""

    start: int
    end: int
    name: str
    instead: bytes


class Texts:
    """Finds what patterns match, and values of named keys, in texts of any form."""

    def __init__(self, known: Sequence[Kind], own: Sequence[Kind], names: Names) -> None:
        self._kinds = [*known, *own]
        self._any = AnyOf([kind.pattern for kind in self._kinds])
        self._has_own = bool(own)
        self._are_free = all(is_free(kind.pattern) for kind in own)
        self._names = names

    def may_hold(self, text: bytes) -> bool:
        """Whether the text has to be looked at closely: False only where `spots` finds nothing.

        Of several texts, joined by line breaks, it says whether one of them has to be. Where a
        pattern depends on where its text begins or ends, all have to.
        """
        if not self._are_free or self._is_suspect(text):
            return True
        return b"\\" in text and self._is_suspect(flat(text))

    def _is_suspect(self, text: bytes) -> bool:
        return self._any.is_in(text) or self._names.are_keys_in(text)

    def spots(self, text: bytes) -> list[Spot]:
        """Return what is to be replaced, in order and apart from each other.

        Raises: TooMany
        """
        return merged(self._spots(text))

    def _spots(self, text: bytes) -> Iterable[Spot]:
        if is_json(text):
            return self._in_json(text)
        if text.lstrip()[:1] in (b"{", b"[") and self._names.are_keys_in(flat(text)):
            return [Spot(0, len(text), ATTRIBUTE, mark(ATTRIBUTE))]
        return self._in_plain(text)

    def _in_json(self, text: bytes) -> Iterator[Spot]:
        is_named = self._is_named if self._names.given else None
        for form, start, end in parts(text, is_named):
            if form == "named":
                yield _quoted(start, end, ATTRIBUTE)
            elif not self._has_own and end - start < SHORTEST_TEXT:
                continue
            elif form == "text":
                yield from _moved(self._in_quotes(text[start + 1 : end - 1]), start + 1)
            elif self._has_own or end - start >= SHORTEST_NUMBER:
                yield from [_quoted(start, end, s.name) for s in self._matched(text[start:end])[:1]]

    def _is_named(self, key: bytes) -> bool:
        return self._names.is_named(unescaped(key).text.decode("utf-8", "replace"))

    def _in_plain(self, text: bytes) -> Iterable[Spot]:
        """Find in a text as it is, and as it reads with its escapes, if it has any."""
        found = self._matched(text)
        if b"\\" not in text:
            return found
        layer = unescaped(text)
        if layer.text == text:
            return found
        return [*found, *_outer(layer, self._in_plain(layer.text))]

    def _in_quotes(self, text: bytes) -> Iterable[Spot]:
        """Find in a text of JSON: what it reads as may be JSON itself."""
        if b"\\" not in text:
            return self._spots(text)
        layer = unescaped(text)
        return _outer(layer, self._spots(layer.text))

    def _matched(self, text: bytes) -> list[Spot]:
        found = []
        for position in self._any.matching(text):
            name, _, expression, group, check = self._kinds[position]
            for start, end in matches(expression, text, group, check):
                if start < end:
                    found.append(Spot(start, end, name, mark(name)))
        return found


def mark(name: str) -> bytes:
    """Return what stands where something was taken out."""
    return f"[redacted:{name}]".encode()


def merged(spots: Iterable[Spot]) -> list[Spot]:
    """Return the spots in order; of those that overlap one that covers them, named as the first."""
    found: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.start, -spot.end)):
        if found and spot.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, spot.end))
        else:
            found.append(spot)
    return found


def _quoted(start: int, end: int, name: str) -> Spot:
    return Spot(start, end, name, b'"' + mark(name) + b'"')


def _moved(spots: Iterable[Spot], by: int) -> Iterator[Spot]:
    return (Spot(start + by, end + by, name, instead) for start, end, name, instead in spots)


def _outer(layer: Layer, spots: Iterable[Spot]) -> list[Spot]:
    """Return spots of a layer as spots of the text around it."""
    return [
        Spot(layer.origin(start), layer.origin(end), name, escaped(instead))
        for start, end, name, instead in spots
    ]
