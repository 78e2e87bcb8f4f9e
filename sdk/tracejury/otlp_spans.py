"""The spans and log records in OTLP files, read without the service.

JSON, JSON lines, and protobuf where its classes are.

This is for looking at files: what the service stores is decoded, with limits, by the service.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from tracejury.errors import MissingExtraError, TracejuryError
from tracejury.otlp_files import pieces_of
from tracejury.otlp_pieces import FRAMES, JSON_LINES, PROTOBUF, unframed
from tracejury.span_records import plain_value
from tracejury.trace import LogRecord, SpanEvent, SpanRecord, StatusCode

TRACE_ID_DIGITS = 32
SPAN_ID_DIGITS = 16
SIGNALS = frozenset({"resourceSpans", "resourceLogs"})
_HEX = re.compile("[0-9a-fA-F]*")
_KINDS: Final = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUS: Final[tuple[StatusCode, ...]] = ("unset", "ok", "error")

Item = TypeVar("Item")


def read_spans(paths: Iterable[Path]) -> Iterator[SpanRecord]:
    """Yield the spans in the files.

    Raises: TracejuryError naming the file; OSError where it cannot be read.
    """
    for path in paths:
        for document in read_documents(path):
            yield from named(path, spans_of, document)


def read_documents(path: Path) -> Iterator[Any]:
    """Yield the JSON documents in a file; protobuf, taken for traces, is yielded as its JSON.

    Raises: TracejuryError naming the file; OSError where it cannot be read.
    """
    for piece in pieces_of(path):
        if piece.problem:
            raise TracejuryError(f"{path}: {piece.problem}")
        yield from named(path, _documents, piece.content_type, piece.body)


def named(path: Path, read: Callable[..., Iterable[Item]], *parts: Any) -> list[Item]:
    """What `read` makes of a part of the file.

    Raises: TracejuryError naming the file where it is no OTLP.
    """
    try:
        return list(read(*parts))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise TracejuryError(
            f"{path}: is no OTLP export of traces: {reason}; export it with an OTLP file exporter"
        ) from error


def _documents(content_type: str, body: bytes) -> Iterator[Any]:
    if content_type == PROTOBUF:
        yield _from_protobuf(body)
    elif content_type == FRAMES:
        for message in unframed(body):
            yield orjson.loads(message) if message.startswith(b"{") else _from_protobuf(message)
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
        return MessageToDict(ExportTraceServiceRequest.FromString(body)) or {"resourceSpans": []}
    except DecodeError as error:
        raise ValueError(str(error)) from error


def spans_of(document: Any) -> Iterator[SpanRecord]:
    """Yield the spans of one OTLP document.

    Raises: ValueError, TypeError, AttributeError or KeyError where it is none.
    """
    _require_otlp(document)
    for group in document.get("resourceSpans", ()):
        resource = _attributes(group.get("resource", {}))
        for scoped in group.get("scopeSpans", ()):
            scope = scoped.get("scope", {})
            for span in scoped.get("spans", ()):
                yield _span(span, resource, scope)


def logs_of(document: Any) -> Iterator[LogRecord]:
    """Yield the log records of one OTLP document that belong to a trace.

    Raises: ValueError, TypeError, AttributeError or KeyError where it is none.
    """
    _require_otlp(document)
    for group in document.get("resourceLogs", ()):
        resource = _attributes(group.get("resource", {}))
        for scoped in group.get("scopeLogs", ()):
            scope = str(scoped.get("scope", {}).get("name", ""))
            for log in scoped.get("logRecords", ()):
                if trace_id := _id(log, "traceId", TRACE_ID_DIGITS):
                    yield LogRecord(
                        trace_id=trace_id,
                        span_id=_id(log, "spanId", SPAN_ID_DIGITS),
                        event_name=str(log.get("eventName", "")),
                        time_ns=_time(log, "timeUnixNano") or _time(log, "observedTimeUnixNano"),
                        body=plain_value(log.get("body")),
                        attributes=_attributes(log),
                        resource=resource,
                        scope_name=scope,
                    )


def _require_otlp(document: Any) -> None:
    if not isinstance(document, dict) or SIGNALS.isdisjoint(document):
        raise ValueError("it has no resourceSpans")


def _span(span: Any, resource: Mapping[str, Any], scope: Any) -> SpanRecord:
    status = span.get("status", {})
    return SpanRecord(
        trace_id=_id(span, "traceId", TRACE_ID_DIGITS),
        span_id=_id(span, "spanId", SPAN_ID_DIGITS),
        parent_span_id=_id(span, "parentSpanId", SPAN_ID_DIGITS),
        name=str(span.get("name", "")),
        otel_kind=_enum(span.get("kind", 0), "SPAN_KIND_", _KINDS),
        start_ns=_time(span, "startTimeUnixNano"),
        end_ns=_time(span, "endTimeUnixNano"),
        status=_enum(status.get("code", 0), "STATUS_CODE_", _STATUS),
        status_message=str(status.get("message", "")),
        attributes=_attributes(span),
        events=tuple(
            SpanEvent(
                name=str(event.get("name", "")),
                time_ns=_time(event, "timeUnixNano"),
                attributes=_attributes(event),
            )
            for event in span.get("events", ())
        ),
        resource=resource,
        scope_name=str(scope.get("name", "")),
        scope_version=str(scope.get("version", "")),
    )


def _id(holder: Any, name: str, digits: int) -> str:
    """The id in hex, "" for none; generic protobuf JSON writers send base64 instead."""
    text = str(holder.get(name) or "")
    if len(text) != digits or not _HEX.fullmatch(text):
        text = _from_base64(text)
    if len(text) not in (0, digits):
        raise ValueError(f"{name} {str(holder[name])[:40]!r} is not {digits} hex digits")
    return text.lower() if text.strip("0") else ""


def _from_base64(text: str) -> str:
    """The hex of a base64 text; "?" for what is none."""
    try:
        return base64.b64decode(text, validate=True).hex()
    except ValueError:
        return "?"


def _time(holder: Any, name: str) -> int:
    return int(holder.get(name) or 0)


def _enum(value: Any, prefix: str, words: tuple[Item, ...]) -> Item:
    """The word for a number, or for the name that generic protobuf JSON writers send."""
    if isinstance(value, str):
        by_name = {str(word): word for word in words}
        return by_name[value.removeprefix(prefix).lower()]
    return words[value] if 0 <= value < len(words) else words[0]


def _attributes(holder: Any) -> dict[str, Any]:
    return {
        str(pair["key"]): plain_value(pair.get("value")) for pair in holder.get("attributes", ())
    }
