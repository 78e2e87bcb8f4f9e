"""Regular expressions of JSON Schemas, matched in linear time whatever text they meet."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

MAX_PATTERN_CHARS = 10_000
SHOWN_CHARS = 80
TOKEN = re.compile(
    r"\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})"
    r"|\\u\{([0-9A-Fa-f]{1,6})\}"
    r"|\\u([0-9A-Fa-f]{4})"
    r"|\\.|[\[\]]",
    re.DOTALL,
)
SPACES = r"\s\v\x{a0}\x{feff}\p{Z}"


class PatternProblem(ValueError):
    """A pattern that RE2 does not take."""


def matches(pattern: str, text: str) -> bool:
    """Say whether the pattern matches anywhere in the text.

    Raises: PatternProblem where RE2 does not take the pattern.
    """
    return compiled(pattern).search(text.encode("utf-8", "replace")) is not None


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    r"""The pattern, compiled by RE2 with the meaning that ECMA-262 gives it.

    `\d` and `\w` are ASCII, `\s` is any space, `$` is the very end of the text.
    Raises: PatternProblem where RE2 does not take it, as with look-around and back-references.
    Source: JSON Schema 2020-12 core, 6.4 "Regular Expressions".
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        raise PatternProblem(f"a pattern is longer than {MAX_PATTERN_CHARS} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_translated(pattern), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise PatternProblem(
            f"RE2 does not take the pattern {pattern[:SHOWN_CHARS]!r}: {_text(error)}; "
            "look-around, back-references and more than 1000 repeats take no linear time"
        ) from None


def _translated(pattern: str) -> str:
    """The pattern with the escapes that only ECMA-262 knows written as RE2 writes them."""
    in_class = False

    def write(token: re.Match[str]) -> str:
        nonlocal in_class
        high, low, braced, plain = token.groups()
        if token[0] in "[]":
            in_class = token[0] == "["
        if high:
            return _code_point(high, low)
        if braced or plain:
            return rf"\x{{{braced or plain}}}"
        if token[0] == r"\s":
            return SPACES if in_class else f"[{SPACES}]"
        return f"[^{SPACES}]" if token[0] == r"\S" and not in_class else token[0]

    return TOKEN.sub(write, pattern)


def _code_point(high: str, low: str) -> str:
    """A pair of surrogates as the one character that it stands for."""
    code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
    return rf"\x{{{code:x}}}"


def _text(error: Exception) -> str:
    argument = error.args[0] if error.args else ""
    return argument.decode("utf-8", "replace") if isinstance(argument, bytes) else str(error)
