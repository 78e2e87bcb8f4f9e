"""Patterns that take linear time whatever text they meet: RE2, never backtracking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import re2
from pydantic import AfterValidator, StringConstraints

MAX_PATTERN_CHARS = 10_000
MAX_SHOWN_CHARS = 80
MAX_MEMORY_BYTES = 64 << 20
MAX_CANDIDATES = 20_000


class TooMany(Exception):
    """A text has more candidates than are checked."""


def compiled(pattern: str, flags: str = "", *, captures: bool = True) -> Any:
    """The compiled pattern; it matches bytes: the text in UTF-8, see `encoded`.

    `flags` are those of JavaScript and Python: i ignores case, m lets ^ and $ match at lines, s
    lets a dot match line breaks, y matches at the start of the text only; g, d and u mean
    nothing here. Without `captures` a match tells where it is, not where its groups are, and is
    found faster.
    Raises: ValueError where RE2 does not take it.
    """
    options = _options()
    options.case_sensitive = "i" not in flags
    options.dot_nl = "s" in flags
    options.never_capture = not captures
    prefix = "(?m)" if "m" in flags else ""
    try:
        return re2.compile(prefix + (rf"\A(?:{pattern})" if "y" in flags else pattern), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ValueError(
            f"RE2 does not take the pattern {pattern[:MAX_SHOWN_CHARS]!r}: {_text(error)}; "
            "it knows no look-around and no back-references"
        ) from None


class AnyOf:
    """Patterns sought together: asked first which of them match, it spares the others."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Raises: ValueError where RE2 does not take one."""
        joined = "|".join(f"(?:{pattern})" for pattern in patterns)
        self._any = compiled(joined, captures=False)
        self._each = re2.Set.SearchSet(_options())
        for pattern in patterns:
            self._each.Add(pattern)
        self._each.Compile()
        self._all = range(len(patterns))

    def is_in(self, text: bytes) -> bool:
        """Whether some pattern matches somewhere in the text."""
        return bool(self._all) and self._any.search(text) is not None

    def matching(self, text: bytes) -> Sequence[int]:
        """The positions of the patterns that match somewhere in the text, in order."""
        if not self._all or self._any.search(text) is None:
            return ()
        # a set finds nothing where it would take too much memory; then each has to be tried
        return sorted(self._each.Match(text) or self._all)


def matches(
    expression: Any, text: bytes, group: int = 1, check: Callable[[str], bool] | None = None
) -> Iterator[tuple[int, int]]:
    """Start and end of each value that a pattern matches and a check takes.

    The next is sought from the end of the value on, so that what stands between two values
    belongs to both; where the check does not take a value, from its next part on.
    Raises: TooMany past the most that are checked.
    """
    position = 0
    for _ in range(MAX_CANDIDATES):
        found = expression.search(text, position) if position <= len(text) else None
        if found is None:
            return
        start, end = found.span(group)
        if start < 0:  # the group took no part
            start, end = found.span()
        taken = check is None or check(decoded(text[start:end]))
        if taken:
            yield start, end
        part = -1 if taken else text.find(b" ", start, end)
        position = max(part if part >= 0 else end, position + 1)
    raise TooMany


def encoded(text: str) -> bytes:
    """The text in UTF-8, halves of surrogate pairs replaced."""
    return text.encode("utf-8", "replace")


def decoded(text: bytes) -> str:
    """The text of a match."""
    return text.decode("utf-8", "replace")


def _compiles(pattern: str) -> str:
    compiled(pattern)
    return pattern


Pattern = Annotated[str, StringConstraints(max_length=MAX_PATTERN_CHARS), AfterValidator(_compiles)]
"""A pattern as a field of a config or criteria."""


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY_BYTES
    return options


def _text(error: Exception) -> str:
    message = error.args[0] if error.args else error
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
