"""The spans in OTLP files, read without the service: JSON, and protobuf where its classes are.

This is for looking at files: what the service stores is decoded, with limits, by the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from tracejury.errors import MissingExtraError, TracejuryError
from tracejury.otlp_files import JSON_LINES, PROTOBUF, read_requests
from tracejury.span_records import otlp_json_records
from tracejury.trace import SpanRecord


def read_spans(paths: Iterable[Path]) -> Iterator[SpanRecord]:
    """Yield the spans in the files.

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
    if not isinstance(document, dict):
        raise ValueError("it has no resourceSpans")
    return otlp_json_records(document)
