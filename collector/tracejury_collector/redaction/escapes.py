"""Texts inside texts: escapes read one layer at a time, with the way back to where they stood."""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from typing import Final, NamedTuple

from tracejury_evaluators.patterns import TooMany

MAX_ESCAPES: Final = 500_000

_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}"
    rb"|x[0-9a-fA-F]{2}|[nrtbf\"'/\\])"
)
_SIMPLE: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_RUN: Final = rb"(?<!\\)\\++"  # from its beginning, or long ones took quadratic time
_CONTROL: Final = [(re.compile(_RUN + letter), control) for letter, control in _SIMPLE.items()]
_MARK: Final = re.compile(_RUN + rb"([\"'/])")
_CODE: Final = re.compile(_RUN + rb"[ux](?:[0-9a-fA-F]{4}|[0-9a-fA-F]{2})")


class Layer(NamedTuple):
    """A text with one layer of escapes read, and for each piece where it begins in both."""

    text: bytes
    starts: array[int]
    origins: array[int]

    def origin(self, position: int) -> int:
        """Return where in the escaped text stands what is at `position` of this one."""
        piece = bisect_right(self.starts, position) - 1
        end = self.origins[piece + 1] if piece + 1 < len(self.origins) else None
        found = self.origins[piece] + position - self.starts[piece]
        return found if end is None else min(found, end)


def unescaped(text: bytes) -> Layer:
    """Return the text with one layer of escapes of JSON, or of Python's literals, read.

    Raises: TooMany past the most escapes that are read.
    """
    pieces: list[bytes] = []
    starts, origins = array("q", [0]), array("q", [0])
    size = copied = 0

    def add(piece: bytes, origin: int) -> None:
        nonlocal size
        pieces.append(piece)
        size += len(piece)
        starts.append(size)
        origins.append(origin)

    for match in _ESCAPE.finditer(text):
        if len(starts) > 2 * MAX_ESCAPES:
            raise TooMany
        add(text[copied : match.start()], match.start())
        add(_character(match[0][1:]), match.end())
        copied = match.end()
    pieces.append(text[copied:])
    return Layer(b"".join(pieces), starts, origins)


def _character(escape: bytes) -> bytes:
    if escape[:1] == b"u":
        character: str = json.loads(b'"\\' + escape + b'"')
        return character.encode("utf-8", "replace")
    if escape[:1] == b"x":
        return chr(int(escape[1:], 16)).encode()
    return _SIMPLE.get(escape, escape)


def escaped(text: bytes) -> bytes:
    """Return the text as it stands inside a text of JSON; it holds no control characters."""
    return text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def flat(text: bytes) -> bytes:
    """Return the text with the escapes of all layers read at once.

    Good enough to see that there is nothing to look for.
    """
    for escape, control in _CONTROL:
        text = escape.sub(control, text)
    if b"\\u" in text or b"\\x" in text:
        text = _CODE.sub(_code, text)
    return _MARK.sub(rb"\1", text)


def _code(match: re.Match[bytes]) -> bytes:
    digits = match[0].lstrip(b"\\")[1:]
    return chr(int(digits, 16)).encode("utf-8", "replace")
