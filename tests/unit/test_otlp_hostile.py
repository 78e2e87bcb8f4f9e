"""One bad span costs itself; a body that cannot be read at all is refused as a whole."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.otlp import (
    body_rows,
    decoded_rows,
    field,
    logs_request_of,
    make_log,
    make_span,
    nested,
    raw_request,
    request_of,
    to_json,
)
from tracejury_collector.config import Limits
from tracejury_collector.errors import MalformedRequest
from tracejury_collector.receive.otlp import Encoding, decode

ENCODINGS: list[Encoding] = ["protobuf", "json"]
GOOD = make_span(1).SerializeToString()


def json_span(**fields: Any) -> dict[str, Any]:
    span: dict[str, Any] = to_json(request_of(make_span(2)))["resourceSpans"][0]["scopeSpans"][0][
        "spans"
    ][0]
    return {**span, **fields}


def json_body(*spans: Any) -> bytes:
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    return json.dumps(document).encode()


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trace_id", b""),
        ("trace_id", bytes(16)),
        ("trace_id", b"short"),
        ("trace_id", b"x" * 17),
        ("span_id", b""),
        ("span_id", bytes(8)),
        ("span_id", b"short"),
        ("parent_span_id", b"short"),
    ],
)
def test_a_span_with_a_bad_id_is_rejected_alone(
    encoding: Encoding, name: str, value: bytes
) -> None:
    bad = make_span(2)
    setattr(bad, name, value)
    rows, found = decoded_rows(request_of(make_span(1), bad, make_span(3)), encoding)
    assert [row["span_id"] for row in rows] == ["0000000000000001", "0000000000000003"]
    assert found.rejected == 1
    assert "1 spans rejected" in found.message


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_parent_id_of_zeros_is_no_parent(encoding: Encoding) -> None:
    rows, _ = decoded_rows(request_of(make_span(parent_span_id=bytes(8))), encoding)
    assert rows[0]["parent_span_id"] == ""


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(GOOD[:-3], id="cut short"),
        pytest.param(GOOD + b"\x0a\xff", id="a field that runs past the end"),
        pytest.param(GOOD + field(5, b"\xff\xfe"), id="a name that is not UTF-8"),
        pytest.param(GOOD + field(9, field(1, b"\xc3\x28")), id="a key that is not UTF-8"),
        pytest.param(GOOD + field(11, b"\x0f"), id="an event that is no message"),
        pytest.param(b"\xff" * 20, id="noise"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_an_undecodable_span_costs_itself_and_not_its_neighbors(bad: bytes) -> None:
    good = [make_span(n).SerializeToString() for n in range(1, 512)]
    body = raw_request(*good[:255], bad, *good[255:])
    rows, found = body_rows(body, "protobuf")
    assert len(rows) == 511
    assert found.rejected == 1


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(b'{"traceId": "\xff\xfe"}', id="not UTF-8"),
        pytest.param(b'{"traceId": 5}', id="an id that is a number"),
        pytest.param(b'"a span"', id="a text"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b'{"name": 1e999}', id="a number out of range"),
        pytest.param(b'{"x": ' + b"[" * 5000 + b"]" * 5000 + b"}", id="nested 5000 deep"),
        pytest.param(b'{"x": ' + b"[" * 500000 + b"]" * 500000 + b"}", id="nested 500000 deep"),
        pytest.param(b'{"name": "a" "b"}', id="broken inside"),
    ],
)
def test_an_undecodable_json_span_costs_itself_and_not_its_neighbors(bad: bytes) -> None:
    good = [json.dumps(json_span(spanId=f"{n:016x}")).encode() for n in range(1, 512)]
    spans = b",".join([*good[:255], bad, *good[255:]])
    body = b'{"resourceSpans": [{"scopeSpans": [{"spans": [' + spans + b"]}]}]}"
    rows, found = body_rows(body, "json")
    assert len(rows) == 511
    assert found.rejected == 1


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("depth", "kept"), [(31, True), (32, True), (33, False), (47, False), (48, False)]
)
def test_a_value_nested_deeper_than_the_limit_is_rejected(
    encoding: Encoding, depth: int, kept: bool
) -> None:
    bad = make_span(2)
    value = bad.attributes.add(key="deep").value
    for _ in range(depth):
        value = value.array_value.values.add()
    value.string_value = "deep"
    body = (
        raw_request(GOOD, bad.SerializeToString())
        if encoding == "protobuf"
        else json_body(
            json_span(spanId="01" * 8),
            json_span(attributes=[{"key": "deep", "value": nested(depth)}]),
        )
    )
    rows, found = body_rows(body, encoding)
    assert (len(rows), found.rejected) == ((2, 0) if kept else (1, 1))


def test_a_json_value_nested_a_thousand_deep_is_rejected_alone() -> None:
    deep = json_span(attributes=[{"key": "deep", "value": nested(300)}])
    rows, found = body_rows(json_body(deep, json_span()), "json")
    assert (len(rows), found.rejected) == (1, 1)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("protobuf", b"\x0a\xff\xff\xff\xff\x0f"),
        ("protobuf", b"not protobuf"),
        ("protobuf", raw_request(GOOD)[:-1]),
        ("protobuf", b"\x00\x00"),
        ("protobuf", b"\x0b"),
        ("protobuf", b"\xff" * 11),
        ("json", b""),
        ("json", b"not JSON"),
        ("json", b"[]"),
        ("json", b'"text"'),
        ("json", b"5"),
        ("json", b"null"),
        ("json", b'{"resourceSpans": {}}'),
        ("json", b'{"resourceSpans": [5]}'),
        ("json", b'{"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}]}'),
        ("json", json_body(json_span())[:-3]),
        ("json", b"[" * 100_000),
        ("json", b'{"resourceSpans": "\xff"}'),
        ("json", b"\xef\xbb\xbf{"),
        ("json", b"9" * 10_000),
        ("json", b'"' * 100_001),
        ("json", b"\\" * 5_000_000),
    ],
)
def test_a_body_that_cannot_be_read_is_malformed(encoding: Encoding, body: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode("traces", encoding, body, Limits())


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("protobuf", b""),
        ("protobuf", field(1, b"")),
        ("protobuf", field(1, field(2, b""))),
        ("protobuf", field(99, b"unknown")),
        ("json", b"{}"),
        ("json", b'{"resourceSpans": null}'),
        ("json", b'{"resourceSpans": [{}], "unknown": [{"spans": 5}]}'),
    ],
)
def test_an_empty_request_is_fine(encoding: Encoding, body: bytes) -> None:
    rows, found = body_rows(body, encoding)
    assert (rows, found.rejected, found.message) == ([], 0, "")


def test_a_resource_that_cannot_be_decoded_costs_only_its_own_spans() -> None:
    scope = field(2, field(2, GOOD) + field(2, GOOD))
    body = field(1, field(1, b"\xff") + scope) + field(1, scope)
    rows, found = body_rows(body, "protobuf")
    assert (len(rows), found.rejected) == (2, 2)
    assert "resource" in found.message


def test_a_json_resource_of_the_wrong_shape_costs_only_its_own_spans() -> None:
    spans = {"scopeSpans": [{"spans": [json_span()]}]}
    document = {"resourceSpans": [{"resource": {"attributes": 5}, **spans}, spans]}
    rows, found = body_rows(json.dumps(document).encode(), "json")
    assert (len(rows), found.rejected) == (1, 1)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("start", "end", "duration", "stored_end"),
    [
        (1, 2**64 - 1, 2**63 - 1, 2**63 - 2),
        (5, 2, 0, 2),
        (0, 5, None, 5),
        (5, 0, None, None),
    ],
)
def test_strange_times_are_kept_raw_and_clamped(
    encoding: Encoding, start: int, end: int, duration: int | None, stored_end: int | None
) -> None:
    span = make_span(start_time_unix_nano=start, end_time_unix_nano=end)
    rows, _ = decoded_rows(request_of(span), encoding)
    assert rows[0]["start_time_unix_nano"] == start
    assert rows[0]["end_time_unix_nano"] == end
    assert rows[0]["duration_ns"] == duration
    assert rows[0]["end_time"] == stored_end


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("value", "text"),
    [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")],
)
def test_numbers_that_json_cannot_hold_become_texts(
    encoding: Encoding, value: float, text: str
) -> None:
    span = make_span()
    span.attributes.add(key="k").value.double_value = value
    rows, _ = decoded_rows(request_of(span), encoding)
    assert json.loads(rows[0]["attributes"]) == {"k": text}


def test_a_bare_nan_in_json_is_taken_though_it_is_not_json() -> None:
    body = json_body(json_span(attributes=[{"key": "k", "value": {"doubleValue": math.nan}}]))
    assert b"NaN" in body
    rows, _ = body_rows(body, "json")
    assert json.loads(rows[0]["attributes"]) == {"k": "NaN"}


def test_lone_surrogates_are_replaced_and_escaped_backslashes_are_not() -> None:
    body = json_body(json_span(name="a\ud800b", traceState="\\ud800 \U0001f600"))
    rows, _ = body_rows(body, "json")
    assert rows[0]["name"] == "a\ufffdb"
    assert rows[0]["trace_state"] == "\\ud800 \U0001f600"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_nul_and_bidirectional_text_are_kept(encoding: Encoding) -> None:
    rows, _ = decoded_rows(request_of(make_span(name="a\0b\u202ec")), encoding)
    assert rows[0]["name"] == "a\0b\u202ec"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_log_record_without_a_trace_id_is_rejected(encoding: Encoding) -> None:
    request = logs_request_of(make_log(1), make_log(2, trace_id=b""))
    rows, found = decoded_rows(request, encoding)
    assert (len(rows), found.rejected) == (1, 1)
    assert "1 log records rejected" in found.message


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_log_record_need_not_name_a_span(encoding: Encoding) -> None:
    rows, _ = decoded_rows(logs_request_of(make_log(span_id=b"")), encoding)
    assert rows[0]["span_id"] == ""


def test_an_undecodable_log_record_costs_itself() -> None:
    good = make_log().SerializeToString()
    rows, found = body_rows(raw_request(good, b"\x0a\xff", good), "protobuf", "logs")
    assert (len(rows), found.rejected) == (2, 1)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s: s.update(traceId=s["traceId"].upper()), id="upper-case hex"),
        pytest.param(lambda s: s.update(traceId="CvdlGRbNQ92ESOshHIAxnA=="), id="base64"),
        pytest.param(lambda s: s.update(traceId="CvdlGRbNQ92ESOshHIAxnA"), id="base64, bare"),
        pytest.param(lambda s: s.update(kind="SPAN_KIND_SERVER"), id="an enum by name"),
        pytest.param(lambda s: s.update(startTimeUnixNano=1790000000000000000), id="a number"),
        pytest.param(lambda s: s.update(madeUp={"deep": [1]}), id="an unknown field"),
        pytest.param(lambda s: s.update(events=None, status=None, flags=None), id="nulls"),
    ],
)
def test_json_may_say_the_same_in_other_words(change: Callable[[dict[str, Any]], None]) -> None:
    plain = json_span(kind=2)
    other = json_span(kind=2)
    change(other)
    assert body_rows(json_body(other), "json")[0] == body_rows(json_body(plain), "json")[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"flags": 2**32},
        {"flags": -1},
        {"flags": True},
        {"startTimeUnixNano": "1_0"},
        {"startTimeUnixNano": 2**64},
        {"startTimeUnixNano": 1.5},
        {"startTimeUnixNano": "soon"},
        {"kind": "SPAN_KIND_OF_BLUE"},
        {"kind": [2]},
        {"name": ["x"]},
        {"attributes": {"a": 1}},
        {"attributes": [{"key": "k", "value": {"intValue": str(2**63)}}]},
        {"attributes": [{"key": "k", "value": {"doubleValue": "fast"}}]},
        {"attributes": [{"key": "k", "value": {"bytesValue": "?"}}]},
        {"attributes": [{"key": "k", "value": {"boolValue": "true"}}]},
        {"attributes": [{"key": 5, "value": {"stringValue": ""}}]},
        {"events": [5]},
        {"links": [{"traceId": "zz"}]},
        {"status": 2},
        {"traceId": "\u0660" * 32},
    ],
)
def test_a_json_span_of_the_wrong_shape_is_rejected_alone(fields: dict[str, Any]) -> None:
    rows, found = body_rows(json_body(json_span(**fields), json_span()), "json")
    assert (len(rows), found.rejected) == (1, 1)


def test_the_message_of_a_rejection_stays_short() -> None:
    bad = [make_span(2, trace_id=b"x" * n).SerializeToString() for n in range(1, 16)]
    _, found = body_rows(raw_request(*bad), "protobuf")
    assert found.rejected == 15
    assert len(found.message) < 1000
