"""Data without what must not be stored: attributes, values of any form, texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from tracejury_collector.config import ATTRIBUTE, RedactionSettings
from tracejury_collector.redaction.encoded import Base64
from tracejury_collector.redaction.kinds import known_kinds, own_kinds
from tracejury_collector.redaction.names import CACHED, CACHED_CHARS, Names
from tracejury_collector.redaction.texts import SHORTEST_NUMBER, Texts, mark
from tracejury_evaluators.patterns import encoded

MARKER: Final = "tracejury.redacted"
"""The attribute that names what was taken out of a span or log record."""
_SHORT_NUMBER = 10 ** (SHORTEST_NUMBER - 1)
_INSTEAD: Final = mark(ATTRIBUTE).decode()

Found = Counter[str]
"""How often something was taken out, by its name."""


class Redactor:
    """Takes out what the settings say; what it finds is counted in the `Found` of each call.

    Its methods raise TooMany for a text with more candidates than are looked at: what cannot be
    looked through must not be stored.
    """

    def __init__(self, settings: RedactionSettings) -> None:
        self.is_active = settings.is_active
        self._own = bool(settings.custom)
        self._named = Names(settings.attributes)
        self._kept = Names(settings.keep)
        self._texts = Texts(known_kinds(settings), own_kinds(settings), self._named)
        self._cached_key = lru_cache(CACHED)(self._key)
        self._untouched: set[str] = set()

    def attributes(self, attributes: Mapping[str, Any], found: Found) -> dict[str, Any]:
        """Return attributes of OTLP, plain as they are stored."""
        result = {}
        for name, value in attributes.items():
            kept = self._kept.is_named(name) and not self._named.is_named(name)
            result[self.key(name, found)] = value if kept else self._member(name, value, found)
        return result

    def _member(self, name: str, value: Any, found: Found) -> Any:
        if self._named.is_named(name):
            found[ATTRIBUTE] += 1
            return _INSTEAD
        return self.value(value, found)

    def value(self, value: Any, found: Found) -> Any:
        """Return plain data of any form; a number that is taken out becomes a text."""
        if isinstance(value, Base64):
            return self._bytes(value, found)
        if isinstance(value, str):
            return self.text(value, found)
        if isinstance(value, list):
            return [self.value(item, found) for item in value]
        if isinstance(value, dict):
            return {self.key(k, found): self._member(k, v, found) for k, v in value.items()}
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value, found)
        return value

    def text(self, text: str, found: Found) -> str:
        """Return a text, which may hold JSON."""
        data = encoded(text)
        if not self._texts.may_hold(data):
            return text
        spots = self._texts.spots(data)
        if not spots:
            return text
        pieces: list[bytes] = []
        copied = 0
        for start, end, name, instead in spots:
            pieces += (data[copied:start], instead)
            copied = end
            found[name] += 1
        return b"".join((*pieces, data[copied:])).decode("utf-8", "replace")

    def key(self, key: str, found: Found) -> str:
        """Return the name of an attribute."""
        result, names = self._known_key(key)
        found.update(names)
        return result

    def _known_key(self, key: str) -> tuple[str, tuple[str, ...]]:
        return self._cached_key(key) if len(key) <= CACHED_CHARS else self._key(key)

    def _key(self, key: str) -> tuple[str, tuple[str, ...]]:
        found = Found()
        return self.text(key, found), tuple(found.elements())

    def _bytes(self, value: Base64, found: Found) -> str:
        """Return the bytes as they are, or the mark of what is first found in them as a text."""
        here = Found()
        self.text(value.text(), here)
        found.update(here)
        return mark(next(iter(here))).decode() if here else value

    def _number(self, value: float, found: Found) -> Any:
        if not self._own and abs(value) < _SHORT_NUMBER:
            return value
        text = str(value)
        redacted = self.text(text, found)
        return value if redacted == text else redacted

    def is_clean(self, attributes: Sequence[Mapping[str, Any]], texts: Iterable[str]) -> bool:
        """Whether there is nothing to take out; when False, there may be."""
        if any(self._are_touched(each.keys()) for each in attributes):
            return False
        held = (text for each in attributes for text in _texts_in(each.values()))
        return not self._texts.may_hold(encoded("\n".join((*texts, *held))))

    def _are_touched(self, names: KeysView[str]) -> bool:
        """Whether something is taken out because of one of the names, or of it."""
        if names <= self._untouched:
            return False
        for name in names - self._untouched:
            if self._named.is_named(name) or self._known_key(name)[1]:
                return True
            if len(name) <= CACHED_CHARS and len(self._untouched) < CACHED:
                self._untouched.add(name)
        return False


def _texts_in(values: Any) -> Iterator[str]:
    """Yield the texts in plain data, and its long numbers as texts."""
    for value in values:
        if isinstance(value, str):
            yield value.text() if isinstance(value, Base64) else value
        elif isinstance(value, list):
            yield from _texts_in(value)
        elif isinstance(value, dict):
            yield from (f'"{key}":' for key in value)
            yield from _texts_in(value.values())
        elif isinstance(value, int | float) and abs(value) >= _SHORT_NUMBER:
            yield str(value)


NOTHING: Final = Redactor(RedactionSettings())
"""Takes nothing out."""
