"""The protobuf wire format, walked without building messages.

Splitting a request at its span boundaries first, and parsing span by span after, costs about as
much as parsing it whole; it keeps one bad span from spoiling its neighbours, and it bounds how
much of a hostile request is ever held as objects.

Source: Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracejury_collector.errors import MalformedRequest, TooLarge

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """A length-delimited field: its number, where its tag begins, and its content."""

    number: int
    tag: int
    start: int
    end: int


class Budget:
    """How many more messages may be looked at before the request is refused."""

    def __init__(self, messages: int) -> None:
        self._limit = self._left = messages

    def spend(self, messages: int = 1) -> None:
        """Take from the budget.

        Raises: TooLarge when it is used up.
        """
        self._left -= messages
        if self._left < 0:
            raise TooLarge(
                f"the request holds more than {self._limit} messages; send smaller batches"
            )


def fields(data: bytes, start: int, end: int, budget: Budget) -> Iterator[Field]:
    """Yield the length-delimited fields of the message at `data[start:end]`; skip the others.

    Raises: MalformedRequest where the bytes are no message; TooLarge.
    """
    position = start
    while position < end:
        tag = position
        key, position = _varint(data, position, end)
        wire_type = key & 7
        if wire_type == _LENGTH:
            length, position = _varint(data, position, end)
            budget.spend()
            if position + length > end:
                raise _broken(tag)
            yield Field(key >> 3, tag, position, position + length)
            position += length
        elif wire_type == _VARINT:
            position = _varint(data, position, end)[1]
        elif wire_type in (_FIXED64, _FIXED32):
            position += 8 if wire_type == _FIXED64 else 4
        else:
            raise _broken(tag)
        if position > end or key < 8:
            raise _broken(tag)


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise _broken(position)


def _broken(position: int) -> MalformedRequest:
    return MalformedRequest(
        f"the body is not protobuf at byte {position}; send an OTLP export request"
    )


class Group(NamedTuple):
    """The parts of one ResourceSpans or ScopeSpans (or their like for logs)."""

    head: bytes
    """The resource or the scope; several are concatenated, which is how protobuf merges them."""
    schema_url: str
    items: list[Field]


def group(data: bytes, field: Field, budget: Budget) -> Group:
    """Return the message in `field`, split: 1 is its head, 2 its items, 3 its schema URL."""
    heads, url, items = [], b"", []
    for part in fields(data, field.start, field.end, budget):
        if part.number == 2:
            items.append(part)
        elif part.number == 1:
            heads.append(data[part.start : part.end])
        elif part.number == 3:
            url = data[part.start : part.end]
    return Group(b"".join(heads), url.decode("utf-8", "replace"), items)


def trim(data: bytes, keep: dict[int, int], budget: Budget) -> tuple[bytes, dict[int, int]]:
    """Return the message with at most `keep[number]` of each named field, and how many were cut."""
    cut = dict.fromkeys(keep, 0)
    seen = dict.fromkeys(keep, 0)
    pieces, copied = [], 0
    for field in fields(data, 0, len(data), budget):
        if field.number not in keep:
            continue
        seen[field.number] += 1
        if seen[field.number] > keep[field.number]:
            cut[field.number] += 1
            pieces.append(data[copied : field.tag])
            copied = field.end
    return (b"".join(pieces) + data[copied:] if pieces else data), cut


_VALUE_TREE = {
    "resource": {1: "pair"},
    "scope": {3: "pair"},
    "span": {9: "pair", 11: "event", 13: "link"},
    "log": {5: "value", 6: "pair"},
    "event": {3: "pair"},
    "link": {4: "pair"},
    "pair": {2: "value"},
    "value": {5: "array", 6: "map"},
    "array": {1: "value"},
    "map": {1: "pair"},
}


def check_values(data: bytes, kind: str, budget: Budget) -> None:
    """Walk all values of a span or log record.

    Raises: TooLarge when there are more than the budget allows; MalformedRequest.
    """
    stack = [(kind, 0, len(data))]
    while stack:
        message, start, end = stack.pop()
        inner = _VALUE_TREE[message]
        stack.extend(
            (inner[field.number], field.start, field.end)
            for field in fields(data, start, end, budget)
            if field.number in inner
        )
