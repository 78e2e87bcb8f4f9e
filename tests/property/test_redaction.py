"""Wherever in a request a secret stands, in whatever wrapping, no row of it holds the secret."""

from __future__ import annotations

import json
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.helpers.otlp import encoded, make_log, make_span
from tracejury_collector.config import Limits, parse_config
from tracejury_collector.receive.otlp import Encoding, decode
from tracejury_collector.redaction import Found, Redactor
from tracejury_collector.redaction.escapes import flat

SECRETS = (
    "jörg.müller@exämple.de",
    "4111 1111 1111 1111",
    "sk-proj-abcdefghijklmnopqrstuvwxyz123",
    "+49 170 1234567",
    "EMP-4711",
)
REDACTOR = Redactor(
    parse_config(
        {
            "redact": {
                "patterns": ["email", "phone", "card", "keys"],
                "custom": {"employee": r"\bEMP-\d+"},
            }
        }
    ).redact
)
BEFORE = st.sampled_from(["", " ", "\n", '"', "say: ", "\t\\", "é ", "{", "[1] ", "\\n ", "/"])
AFTER = st.sampled_from(["", " ", "\n", '"', ", é", "\t\\", "}", "\\n", "/", ": "])


@st.composite
def wrapped(draw: st.DrawFn) -> str:
    """A text with a secret in it: plain, in JSON, in JSON of JSON, cut off."""
    text = draw(BEFORE) + draw(st.sampled_from(SECRETS)) + draw(AFTER)
    for _ in range(draw(st.integers(0, 3))):
        key = text if draw(st.booleans()) and len(text) < 100 else "k"
        data: Any = draw(st.sampled_from([{key: text}, [text, 1], {"a": [{"b": text}]}]))
        text = json.dumps(data, ensure_ascii=draw(st.booleans()))
    return text[: len(text) - draw(st.integers(0, 2))]


def value_of(text: str, form: str) -> AnyValue:
    """The text as a value of OTLP: itself, in a list, in a map, as bytes."""
    value = AnyValue(string_value=text)
    if form == "list":
        value = AnyValue()
        value.array_value.values.add(string_value=text)
    elif form == "map":
        value = AnyValue()
        value.kvlist_value.values.add(key=text, value=AnyValue(string_value=text))
    elif form == "bytes":
        value = AnyValue(bytes_value=text.encode())
    return value


TEXTS = st.lists(
    st.tuples(wrapped(), st.sampled_from(["text", "list", "map", "bytes"])), min_size=9, max_size=9
)


def pairs(texts: list[tuple[str, str]]) -> list[KeyValue]:
    return [KeyValue(key=f"k{n}", value=value_of(*each)) for n, each in enumerate(texts)]


def spans_request(texts: list[tuple[str, str]]) -> ExportTraceServiceRequest:
    plain = [text for text, _ in texts]
    request = ExportTraceServiceRequest()
    outer = request.resource_spans.add(schema_url=plain[0])
    outer.resource.attributes.extend(pairs(texts[:2]))
    inner = outer.scope_spans.add(schema_url=plain[1])
    inner.scope.name, inner.scope.version = plain[2], plain[3]
    inner.scope.attributes.extend(pairs(texts[2:3]))
    span = make_span(1, name=plain[4], trace_state=plain[5])
    span.status.message = plain[6]
    span.attributes.extend([*pairs(texts), KeyValue(key=plain[7], value=AnyValue(int_value=1))])
    span.attributes.add(key="n").value.int_value = 4111111111111111
    span.events.add(name=plain[8]).attributes.extend(pairs(texts[3:4]))
    span.links.add(trace_id=b"1" * 16, span_id=b"2" * 8, trace_state=plain[0]).attributes.extend(
        pairs(texts[4:5])
    )
    inner.spans.append(span)
    return request


def logs_request(texts: list[tuple[str, str]]) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    log = make_log(1, event_name=texts[0][0], severity_text=texts[1][0], body=value_of(*texts[2]))
    log.attributes.extend(pairs(texts))
    request.resource_logs.add().scope_logs.add().log_records.append(log)
    return request


@settings(max_examples=15, deadline=None)
@given(texts=TEXTS, encoding=st.sampled_from(["protobuf", "json"]))
def test_no_row_holds_a_secret_and_json_columns_hold_json(
    texts: list[tuple[str, str]], encoding: Encoding
) -> None:
    for signal, request in (("traces", spans_request(texts)), ("logs", logs_request(texts))):
        body = encoded(request, encoding)
        found = decode(signal, encoding, body, Limits(), REDACTOR)  # type: ignore[arg-type]
        assert found.table is not None
        assert found.rejected == 0
        row = found.table.to_pylist()[0]
        assert found.redacted.keys() <= {"email", "phone", "card", "keys", "employee"}
        assert orjson.loads(row["attributes"])["tracejury.redacted"]
        for name in {"attributes", "events", "links", "resource", "scope", "body"} & row.keys():
            orjson.loads(row[name])
        text = "\n".join(str(value) for value in row.values()).encode()
        for secret in (*SECRETS, "4111111111111111"):
            assert secret.encode() not in text
            assert secret.encode() not in flat(text)


@settings(max_examples=100, deadline=None)
@given(text=wrapped())
def test_json_stays_json_and_what_was_redacted_once_stays_as_it_is(text: str) -> None:
    once = REDACTOR.text(text, Found())
    try:
        json.loads(text)
    except ValueError:
        pass
    else:
        json.loads(once)
    assert REDACTOR.text(once, Found()) == once
