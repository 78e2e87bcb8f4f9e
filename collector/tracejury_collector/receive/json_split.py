"""JSON bodies, split at their spans where parsing them whole would be wrong or too costly.

A body that does not parse (one span holds invalid UTF-8, a bare NaN, a lone surrogate, or nests
thousands deep) is cut at the boundaries of its spans, and each is parsed alone. The same is done
for large bodies, so that only one span at a time is held as objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from tracejury_collector.config import Limits
from tracejury_collector.errors import MalformedRequest, TooLarge
from tracejury_collector.receive.values import Rejected

_WHOLE_BYTES = 4 << 20
_MAX_BRACKETS = 8_000_000
_MAX_STRUCTURES = 1_000_000  # objects, arrays and texts in one piece
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+([{}\[\]])", re.DOTALL)
_KEY = re.compile(rb'"([A-Za-z]+)"\s*+:\s*+\Z')
_LONGEST_KEY_BYTES = 64
_SURROGATES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


class Document(NamedTuple):
    """A parsed body; spans that were cut out stand in it as their number in `pieces`."""

    root: Any
    pieces: Sequence[bytes] = ()

    def item(self, value: Any) -> Any:
        """Return the span that `value` is or stands for.

        Raises: Rejected where its text does not parse.
        """
        if not self.pieces or not isinstance(value, dict):
            return value
        number = value.get("")
        if not isinstance(number, int) or not 0 <= number < len(self.pieces):
            return value
        return _parse(self.pieces[number])


def load(body: bytes, path: tuple[str, str, str], limits: Limits) -> Document:
    """Return the parsed body; `path` names the arrays that lead to its spans.

    Raises: MalformedRequest, TooLarge
    """
    if len(body) <= _WHOLE_BYTES:
        try:
            return Document(orjson.loads(body))
        except orjson.JSONDecodeError:
            pass
    skeleton, pieces = _cut_out(body, [name.encode() for name in path], limits)
    if len(skeleton) > _WHOLE_BYTES:
        if not pieces:
            raise MalformedRequest("the body is not an OTLP/JSON export request")
        raise TooLarge("resources and scopes take more than 4 MiB; send smaller batches")
    try:
        return Document(_parse(skeleton), pieces)
    except Rejected as rejected:
        raise MalformedRequest(f"the body {rejected}") from None


def _cut_out(body: bytes, path: list[bytes], limits: Limits) -> tuple[bytes, list[bytes]]:
    """Return the body with each span replaced by its number, and the texts of the spans."""
    pieces: list[bytes] = []
    skeleton: list[bytes] = []
    depth = matched = position = copied = 0
    for _ in range(_MAX_BRACKETS):
        match = _TO_BRACKET.match(body, position)
        if not match:
            return b"".join([*skeleton, body[copied:]]), pieces
        start, position = position, match.end()
        bracket = match[1]
        if bracket in b"}]":
            depth -= 1
            if depth < 0:
                raise MalformedRequest("the body is not JSON: it closes more than it opens")
            if depth == 6 and matched == 3:
                skeleton.append(b'{"":%d}' % len(pieces))
                pieces.append(body[copied:position])
                copied = position
            matched = min(matched, depth // 2)
            continue
        if depth == 6 and matched == 3:
            if len(pieces) >= limits.spans_per_request:
                raise TooLarge(f"more than {limits.spans_per_request} spans in one request")
            skeleton.append(body[copied : position - 1])
            copied = position - 1
        depth += 1
        if bracket == b"[" and depth == 2 * matched + 2 and matched < 3:
            key = _KEY.search(body, max(start, position - _LONGEST_KEY_BYTES), position - 1)
            matched += key is not None and key[1] == path[matched]
    raise TooLarge(f"more than {_MAX_BRACKETS} brackets in one request; send smaller batches")


def _parse(text: bytes) -> Any:
    """Return the parsed JSON; bare NaN is taken, lone surrogates are replaced.

    Raises: Rejected
    """
    structures = text.count(b"{") + text.count(b"[")
    structures += (text.count(b'"') - text.count(b'\\"')) // 2
    if structures > _MAX_STRUCTURES:
        raise Rejected(f"holds more than {_MAX_STRUCTURES} values")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(_SURROGATES.sub(_replaced, text).decode("utf-8"))
    except (ValueError, RecursionError):
        raise Rejected("is not JSON (invalid UTF-8, cut short, or nested too deep)") from None


def _replaced(match: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if match[1] else match[0]
