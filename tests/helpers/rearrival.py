"""Exports taken apart and sent again: in another order, other requests, another encoding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from tests.helpers.corpus import CORPUS, requests
from tests.helpers.dialect_cases import DialectCase
from tests.helpers.otlp import encoded
from tracejury.assemble import assemble
from tracejury.trace import LogRecord, SpanRecord
from tracejury.view import trace_to_api
from tracejury_collector.config import Limits
from tracejury_collector.receive.otlp import Encoding, Signal, decode
from tracejury_collector.store.arrivals import Arrivals, add_logs, add_spans

_SPAN_COLUMNS = (
    *("trace_id", "seq", "content_hash_high", "content_hash_low", "span_id", "parent_span_id"),
    *("name", "otel_kind", "start_time_unix_nano", "end_time_unix_nano", "status"),
    *("status_message", "attributes", "events", "resource", "scope", "trace_state"),
)
_LOG_COLUMNS = (
    *("trace_id", "seq", "content_hash_high", "content_hash_low", "span_id", "event_name"),
    *("time_ns", "body", "attributes", "resource", "scope"),
)


@dataclass(frozen=True, kw_only=True)
class Item:
    """One span or log record, in a request of its own."""

    signal: Signal
    request: Message


def recorded_items(name: str) -> list[Item]:
    """Return the spans, then the log records of a recorded case."""
    folder = CORPUS / "captures" / name
    return [
        *(Item(signal="traces", request=r) for r in _spans_apart(folder)),
        *(Item(signal="logs", request=r) for r in _logs_apart(folder / "logs")),
    ]


def hand_made_items(case: DialectCase) -> list[Item]:
    """Return the spans, then the log records of a hand-made case."""
    return [
        *(Item(signal="traces", request=_span_request(span)) for span in case.spans),
        *(Item(signal="logs", request=_log_request(log)) for log in case.logs),
    ]


def started(item: Item) -> Item:
    """Return the span as it is sent while it runs, without attributes; a log record as it is."""
    if item.signal == "logs":
        return item
    request = ExportTraceServiceRequest()
    request.CopyFrom(item.request)
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.end_time_unix_nano = 0
    span.ClearField("attributes")
    return Item(signal=item.signal, request=request)


def decoded(items: Sequence[Item], encoding: Encoding) -> pa.Table:
    """Return the rows of one request that holds these items of one signal."""
    request = type(items[0].request)()
    for item in items:
        request.MergeFrom(item.request)
    found = decode(items[0].signal, encoding, encoded(request, encoding), Limits())
    assert found.table is not None
    assert found.rejected == 0, found.message
    return found.table


def arrivals_of(tables: Iterable[tuple[Signal, pa.Table]]) -> dict[str, Arrivals]:
    """Return what arrived of each trace, as the store loads it."""
    found: dict[str, Arrivals] = defaultdict(Arrivals)
    next_seq = 1
    for signal, table in tables:
        seqs = pa.array(range(next_seq, next_seq + table.num_rows), type=pa.int64())
        next_seq += table.num_rows
        numbered = table.append_column("seq", seqs)
        if signal == "traces":
            add_spans(found, _columns(numbered, _SPAN_COLUMNS))
        else:
            add_logs(found, _columns(_timed(numbered), _LOG_COLUMNS))
    return found


def _columns(table: pa.Table, names: Iterable[str]) -> list[list[Any]]:
    return [table[name].to_pylist() for name in names]


def _timed(logs: pa.Table) -> pa.Table:
    """Return the log records with the time that the store loads: observed where none was given."""
    times = zip(
        logs["time_unix_nano"].to_pylist(), logs["observed_time_unix_nano"].to_pylist(), strict=True
    )
    return logs.append_column("time_ns", pa.array([time or seen for time, seen in times]))


def rebuilt(arrivals: dict[str, Arrivals]) -> dict[str, dict[str, Any]]:
    """Return the traces in the shape of the API, by id."""
    return {
        trace_id: trace_to_api(assemble(found.spans, found.logs))
        for trace_id, found in arrivals.items()
        if found.spans
    }


def _spans_apart(folder: Any) -> Iterable[ExportTraceServiceRequest]:
    for request in requests(folder, ExportTraceServiceRequest):
        for group in request.resource_spans:
            for scoped in group.scope_spans:
                for span in scoped.spans:
                    alone = ExportTraceServiceRequest()
                    target = alone.resource_spans.add(resource=group.resource)
                    target.scope_spans.add(scope=scoped.scope).spans.append(span)
                    yield alone


def _logs_apart(folder: Any) -> Iterable[ExportLogsServiceRequest]:
    for request in requests(folder, ExportLogsServiceRequest):
        for group in request.resource_logs:
            for scoped in group.scope_logs:
                for log in scoped.log_records:
                    if log.trace_id:
                        alone = ExportLogsServiceRequest()
                        target = alone.resource_logs.add(resource=group.resource)
                        target.scope_logs.add(scope=scoped.scope).log_records.append(log)
                        yield alone


def _span_request(span: SpanRecord) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.extend(_pairs(span.resource))
    scoped = group.scope_spans.add()
    scoped.scope.name = span.scope_name
    scoped.spans.append(
        trace_pb2.Span(
            trace_id=bytes.fromhex(span.trace_id),
            span_id=bytes.fromhex(span.span_id),
            parent_span_id=bytes.fromhex(span.parent_span_id),
            name=span.name,
            kind=trace_pb2.Span.SpanKind.Value(f"SPAN_KIND_{span.otel_kind.upper()}"),
            start_time_unix_nano=span.start_ns,
            end_time_unix_nano=span.end_ns,
            status=trace_pb2.Status(
                code=trace_pb2.Status.StatusCode.Value(f"STATUS_CODE_{span.status.upper()}"),
                message=span.status_message,
            ),
            attributes=_pairs(span.attributes),
            events=[
                trace_pb2.Span.Event(
                    name=event.name,
                    time_unix_nano=event.time_ns,
                    attributes=_pairs(event.attributes),
                )
                for event in span.events
            ],
        )
    )
    return request


def _log_request(log: LogRecord) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    group.resource.attributes.extend(_pairs(log.resource))
    scoped = group.scope_logs.add()
    scoped.scope.name = log.scope_name
    scoped.log_records.append(
        logs_pb2.LogRecord(
            trace_id=bytes.fromhex(log.trace_id),
            span_id=bytes.fromhex(log.span_id),
            event_name=log.event_name,
            time_unix_nano=log.time_ns,
            body=_any(log.body),
            attributes=_pairs(log.attributes),
        )
    )
    return request


def _pairs(attributes: Any) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any(value)) for key, value in attributes.items()]


def _any(value: Any) -> AnyValue:
    found = AnyValue()
    if isinstance(value, bool):
        found.bool_value = value
    elif isinstance(value, int):
        found.int_value = value
    elif isinstance(value, float):
        found.double_value = value
    elif isinstance(value, str):
        found.string_value = value
    elif isinstance(value, dict):
        found.kvlist_value.SetInParent()
        found.kvlist_value.values.extend(_pairs(value))
    elif isinstance(value, list):
        found.array_value.SetInParent()
        found.array_value.values.extend(map(_any, value))
    return found
