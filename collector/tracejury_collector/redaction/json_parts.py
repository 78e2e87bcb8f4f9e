"""The parts of a JSON text by their positions: keys, texts, scalars, and values of named keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

import orjson

from tracejury_evaluators.patterns import TooMany

MAX_TOKENS: Final = 500_000

_OPENERS: Final = frozenset((b"{", b"[", b'"'))
_TOKEN: Final = re.compile(
    rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")(\s*+:)?|(-?[0-9][0-9.eE+\-]*+|true|false|null)|([{\[])|([}\]])',
    re.DOTALL,
)


class Part(NamedTuple):
    """Where a part stands, quotes included; `named` is the whole value of a named key."""

    form: Literal["text", "scalar", "named"]
    start: int
    end: int


def is_json(text: bytes) -> bool:
    """Whether the text is JSON that holds more than a number or a word."""
    if text[:1] not in _OPENERS and text.lstrip()[:1] not in _OPENERS:
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def parts(text: bytes, is_named: Callable[[bytes], bool] | None) -> Iterator[Part]:
    """Yield keys, texts and scalars of valid JSON in order; what is in a named value is skipped.

    `is_named` is given the inside of each key.
    Raises: TooMany past the most that are looked at.
    """
    named = False
    depth = start = 0
    for count, token in enumerate(_TOKEN.finditer(text)):
        if count > MAX_TOKENS:
            raise TooMany
        opens, closes = token[4] is not None, token[5] is not None
        if depth:
            depth += opens - closes
            if not depth:
                yield Part("named", start, token.end())
            continue
        is_key = token[2] is not None
        if named and not is_key and not closes:
            if opens:
                depth, start = 1, token.start()
            else:
                yield Part("named", token.start(), token.end())
        elif token[1] is not None:
            yield Part("text", token.start(), token.end(1))
        elif token[3] is not None:
            yield Part("scalar", token.start(), token.end())
        named = is_key and is_named is not None and is_named(token[1][1:-1])
