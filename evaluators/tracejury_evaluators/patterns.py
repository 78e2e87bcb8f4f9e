"""Patterns that take linear time whatever text they meet: RE2, never backtracking."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import re2
from pydantic import AfterValidator, StringConstraints

MAX_PATTERN_CHARS = 10_000
MAX_SHOWN_CHARS = 80
MAX_MEMORY_BYTES = 64 << 20


def compiled(pattern: str, flags: str = "") -> Any:
    """The compiled pattern; it matches bytes: the text in UTF-8, see `encoded`.

    `flags` are those of JavaScript and Python: i ignores case, m lets ^ and $ match at lines, s
    lets a dot match line breaks, y matches at the start of the text only; g, d and u mean
    nothing here.
    Raises: ValueError where RE2 does not take it.
    """
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    options.dot_nl = "s" in flags
    options.max_mem = MAX_MEMORY_BYTES
    prefix = "(?m)" if "m" in flags else ""
    try:
        return re2.compile(prefix + (rf"\A(?:{pattern})" if "y" in flags else pattern), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ValueError(
            f"RE2 does not take the pattern {pattern[:MAX_SHOWN_CHARS]!r}: {_text(error)}; "
            "it knows no look-around and no back-references"
        ) from None


def any_of(patterns: Iterable[str]) -> Any:
    """One compiled pattern that matches where any of these does: asked first, it spares them.

    Raises: ValueError where RE2 does not take it.
    """
    return compiled("|".join(f"(?:{pattern})" for pattern in patterns))


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


def _text(error: Exception) -> str:
    message = error.args[0] if error.args else error
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
