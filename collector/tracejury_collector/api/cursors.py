"""Opaque cursors: where the next page of a list begins."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import orjson

from tracejury_collector.errors import MalformedRequest


def encode_cursor(*position: int | str) -> str:
    """Return the cursor after the row at `position`."""
    return base64.urlsafe_b64encode(orjson.dumps(position)).rstrip(b"=").decode("ascii")


def decode_cursor(cursor: str, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """Return the position in a cursor, its parts of the given types.

    Raises: MalformedRequest for text that no page gave.
    """
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        position = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError) as error:
        raise _malformed(cursor) from error
    fits = isinstance(position, list) and len(position) == len(kinds)
    if not fits or any(type(p) is not k for p, k in zip(position, kinds, strict=True)):
        raise _malformed(cursor)
    if any(isinstance(part, int) and not 0 <= part < 1 << 63 for part in position):
        raise _malformed(cursor)
    return tuple(position)


def _malformed(cursor: str) -> MalformedRequest:
    return MalformedRequest(
        f"cursor: {cursor[:100]!r} is no cursor; use the next_cursor of the page before, unchanged"
    )
