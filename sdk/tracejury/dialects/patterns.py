"""Patterns of the tables: those of the built-in ones, and those that users bring.

What a user brings meets names that anybody can send: it is matched by RE2, in time linear in the
name, whatever the pattern.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

import re2

_MOST_BYTES = 1 << 20


class Pattern(Protocol):
    """A compiled pattern that matches whole names."""

    @property
    def groups(self) -> int:
        """How many groups it has."""

    def fullmatch(self, text: str, /) -> Any:
        """The match, None where the text does not fit as a whole."""


class _Linear:
    """A pattern under RE2; text that is no Unicode fits none."""

    __slots__ = ("_pattern", "groups")

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern
        self.groups: int = pattern.groups

    def fullmatch(self, text: str, /) -> Any:
        try:
            return self._pattern.fullmatch(text)
        except UnicodeEncodeError:
            return None


def trusted(pattern: str) -> Pattern:
    """A pattern of a built-in table."""
    return re.compile(pattern)


def linear(pattern: str) -> Pattern:
    """A pattern that a user brings.

    Raises: ValueError where RE2 does not take it.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_BYTES
    try:
        return _Linear(re2.compile(pattern, options))
    except (re2.error, UnicodeEncodeError) as error:
        raise ValueError(
            f"RE2 does not take the pattern: {_text(error)}; "
            "look-around and back-references are not supported"
        ) from error


def _text(error: Exception) -> str:
    argument = error.args[0] if error.args else ""
    return argument.decode("utf-8", "replace") if isinstance(argument, bytes) else str(error)
