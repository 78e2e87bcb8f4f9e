"""The spans in OTLP files, read without the service: JSON, and protobuf where its classes are.

This is for looking at files: what the service stores is decoded, with limits, by the service.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from tracejury.errors import MissingExtraError, TracejuryError
from tracejury.otlp_files import JSON_LINES, PROTOBUF, read_requests
from tracejury.trace import SpanEvent, SpanRecord

MAX_DEPTH = 32


def read_spans(paths: Iterable[Path]) -> Iterator[SpanRecord]:
    """Yield the spans in the files: names, attributes, events, resource and scope.

    Raises: TracejuryError naming the file; OSError where it cannot be read.
    """
    for path in paths:
        for content_type, body in read_requests(path):
            try:
                for document in _documents(content_type, body):
                    yield from _spans(document)
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
                reason = " ".join(str(error).split())[:200]
                raise TracejuryError(
                    f"{path}: is no OTLP export of traces: {reason}; "
                    "export it with an OTLP file exporter"
                ) from error


def _documents(content_type: str, body: bytes) -> Iterator[Any]:
    if content_type == PROTOBUF:
        yield _from_protobuf(body)
    elif content_type == JSON_LINES:
        yield from (orjson.loads(line) for line in body.splitlines() if line.strip())
    else:
        yield orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))


def _from_protobuf(body: bytes) -> Any:
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )
    except ImportError as error:
        raise MissingExtraError(
            "reading protobuf needs the extra 'instrument': pip install 'tracejury[instrument]', "
            "or export the file as JSON"
        ) from error
    try:
        return MessageToDict(ExportTraceServiceRequest.FromString(body))
    except DecodeError as error:
        raise ValueError(str(error)) from error


def _spans(document: Any) -> Iterator[SpanRecord]:
    if not isinstance(document, dict) or not document.keys() & {"resourceSpans", "resourceLogs"}:
        raise ValueError("it has no resourceSpans")
    for group in document.get("resourceSpans", ()):
        resource = _attributes(group.get("resource", {}))
        for scoped in group.get("scopeSpans", ()):
            scope = str(scoped.get("scope", {}).get("name", ""))
            for span in scoped.get("spans", ()):
                yield SpanRecord(
                    trace_id=str(span.get("traceId", "")),
                    span_id=str(span.get("spanId", "")),
                    name=str(span.get("name", "")),
                    attributes=_attributes(span),
                    events=tuple(
                        SpanEvent(name=str(event.get("name", "")), attributes=_attributes(event))
                        for event in span.get("events", ())
                    ),
                    resource=resource,
                    scope_name=scope,
                )


def _attributes(holder: Any) -> dict[str, Any]:
    return {str(pair["key"]): _value(pair.get("value")) for pair in holder.get("attributes", ())}


def _value(value: Any, depth: int = 0) -> Any:
    """The plain value of an OTLP AnyValue; bytes are base64 text, as the service keeps them."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return None
    for name, inner in value.items():
        if name == "intValue":
            return int(inner)
        if name == "arrayValue":
            return [_value(item, depth + 1) for item in inner.get("values", ())]
        if name == "kvlistValue":
            pairs = inner.get("values", ())
            return {str(pair["key"]): _value(pair.get("value"), depth + 1) for pair in pairs}
        if name == "doubleValue":
            return float(inner)
        if name == "bytesValue":
            return base64.b64encode(base64.b64decode(inner)).decode()
        if name in ("stringValue", "boolValue"):
            return inner
    return None
