"""Attributes and keys by their names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import re2

from tracejury_evaluators.patterns import compiled
from tracejury_evaluators.safety.allow import allowed

CACHED = 4096
CACHED_CHARS = 200
"""How many names are remembered, and how long they may be: most come again and again."""


class Names:
    """Names and globs; case aside, `*` stands for anything."""

    def __init__(self, globs: Sequence[str]) -> None:
        self.given = bool(globs)
        self._allowed = allowed(globs)
        self._cached = lru_cache(CACHED)(self._allowed)
        parts = ['[^"]*'.join(map(re2.escape, glob.split("*"))) for glob in globs]
        self._keys = compiled(rf'"(?:{"|".join(parts)})"\s*:', "i", captures=False)

    def is_named(self, name: str) -> bool:
        """Whether this is one of them."""
        if not self.given:
            return False
        return self._cached(name) if len(name) <= CACHED_CHARS else self._allowed(name)

    def are_keys_in(self, text: bytes) -> bool:
        """Whether one of them looks like a key of JSON that stands somewhere in the text."""
        return self.given and self._keys.search(text) is not None
