"""Spans that cannot be taken, as bytes of either encoding."""

from __future__ import annotations

import json
from typing import Any

from tests.helpers.otlp import field, make_span, nested, request_of, to_json, varint

_BROKEN = b"\xff\xfe"
_GOOD: bytes = make_span(9).SerializeToString()
_ATTRIBUTE = 9
_EVENT = 11
_LINK = 13
_STATUS = 15


def _span(**fields: Any) -> bytes:
    data: bytes = make_span(9, **fields).SerializeToString()
    return data


def _deep(depth: int) -> bytes:
    value = field(1, b"deep")
    for _ in range(depth):
        value = field(5, field(1, value))
    return _GOOD + field(_ATTRIBUTE, field(1, b"k") + field(2, value))


def _text(content: bytes) -> bytes:
    return field(_ATTRIBUTE, field(1, b"k") + field(2, field(1, content)))


PROTOBUF = {
    "no trace id": _span(trace_id=b""),
    "a short trace id": _span(trace_id=b"short"),
    "a long trace id": _span(trace_id=b"x" * 17),
    "a trace id of zeros": _span(trace_id=bytes(16)),
    "no span id": _span(span_id=b""),
    "a short span id": _span(span_id=b"x"),
    "a long span id": _span(span_id=b"x" * 9),
    "a span id of zeros": _span(span_id=bytes(8)),
    "a short parent id": _span(parent_span_id=b"short"),
    "a name that is no UTF-8": _GOOD + field(5, _BROKEN),
    "a trace state that is no UTF-8": _GOOD + field(3, _BROKEN),
    "a key that is no UTF-8": _GOOD + field(_ATTRIBUTE, field(1, _BROKEN)),
    "a text that is no UTF-8": _GOOD + _text(_BROKEN),
    "a surrogate in UTF-8": _GOOD + _text(b"\xed\xa0\x80"),
    "an event name that is no UTF-8": _GOOD + field(_EVENT, field(2, _BROKEN)),
    "a status that is no UTF-8": _GOOD + field(_STATUS, field(2, _BROKEN)),
    "a link state that is no UTF-8": _GOOD + field(_LINK, field(3, _BROKEN)),
    "an event that is no message": _GOOD + field(_EVENT, b"\x0f"),
    "a link that is no message": _GOOD + field(_LINK, b"\x0f"),
    "a status that is no message": _GOOD + field(_STATUS, b"\x0f"),
    "an attribute that runs past its end": _GOOD + field(_ATTRIBUTE, b"\x0a\x7f"),
    "cut short": _GOOD[:-3],
    "a field that runs past the end": _GOOD + b"\x0a\xff",
    "a length without end": _GOOD + b"\x0a" + b"\xff" * 11,
    "field number zero": _GOOD + b"\x02\x00",
    "a group that does not end": _GOOD + b"\x0b",
    "a group that does not begin": _GOOD + b"\x0c",
    "wire type 6": _GOOD + b"\x0e",
    "nested over the limit": _deep(33),
    "nested over protobuf's limit": _deep(100),
    "nested a thousand deep": _deep(1000),
    "millions of values": _GOOD + field(_ATTRIBUTE, field(2, field(5, b"\x0a\x00" * 600_000))),
    "noise": b"\xff" * 20,
    "nothing at all": b"",
    "a number in the place of the trace id": _GOOD[18:] + varint(1 << 3) + b"\x05",
}


def _json(**fields: Any) -> bytes:
    span = to_json(request_of(make_span(9)))["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    return json.dumps({**span, **fields}).encode()


def _valued(value: Any) -> bytes:
    return _json(attributes=[{"key": "k", "value": value}])


JSON = {
    "no trace id": _json(traceId=""),
    "a short trace id": _json(traceId="0a"),
    "a long trace id": _json(traceId="0a" * 17),
    "a trace id of zeros": _json(traceId="0" * 32),
    "a trace id that is no hex": _json(traceId="xy" * 16),
    "digits of another script": _json(traceId="\u0660" * 32),
    "a trace id that is a number": _json(traceId=5),
    "a span id of zeros": _json(spanId="0" * 16),
    "a short parent id": _json(parentSpanId="0a"),
    "a name that is a list": _json(name=["x"]),
    "a time over the range": _json(startTimeUnixNano=2**64),
    "a time below zero": _json(startTimeUnixNano="-1"),
    "a time in words": _json(endTimeUnixNano="soon"),
    "a fractional time": _json(endTimeUnixNano=1.5),
    "flags over the range": _json(flags=2**32),
    "an unknown kind": _json(kind="SPAN_KIND_OF_BLUE"),
    "attributes that are an object": _json(attributes={"a": 1}),
    "a key that is a number": _json(attributes=[{"key": 5, "value": {"stringValue": ""}}]),
    "an integer over the range": _valued({"intValue": str(2**63)}),
    "a double in words": _valued({"doubleValue": "fast"}),
    "bytes that are no base64": _valued({"bytesValue": "?"}),
    "a truth value in words": _valued({"boolValue": "true"}),
    "a list that is none": _valued({"arrayValue": {"values": 5}}),
    "an event that is a number": _json(events=[5]),
    "a link with a bad id": _json(links=[{"traceId": "zz"}]),
    "a status that is a number": _json(status=2),
    "nested over the limit": _valued(nested(33)),
    "nested 5000 deep": b'{"x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "a number out of range": b'{"name": 1e999}',
    "a text that is no UTF-8": b'{"name": "' + _BROKEN + b'"}',
    "broken inside": b'{"name": "a" "b"}',
    "a text": b'"a span"',
    "null": b"null",
    "a list": b"[]",
}
