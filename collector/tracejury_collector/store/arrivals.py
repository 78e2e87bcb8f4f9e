"""Spans and log records as assembly takes them, from the tables that `store.loading` reads."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import orjson
import pyarrow as pa

from tracejury.trace import LogRecord, SpanEvent, SpanRecord
from tracejury_collector.store.columns import BIGINT, TEXT

_HASH = {"content_hash_high": pa.uint64(), "content_hash_low": pa.uint64()}

SPAN_COLUMNS: dict[str, pa.DataType] = {
    "trace_id": TEXT,
    "seq": BIGINT,
    **_HASH,
    "span_id": TEXT,
    "parent_span_id": TEXT,
    "name": TEXT,
    "otel_kind": TEXT,
    "start_time_unix_nano": pa.uint64(),
    "end_time_unix_nano": pa.uint64(),
    "status": TEXT,
    "status_message": TEXT,
    "attributes": TEXT,
    "events": TEXT,
    "resource": TEXT,
    "scope": TEXT,
    "trace_state": TEXT,
}
LOG_COLUMNS: dict[str, pa.DataType] = {
    "trace_id": TEXT,
    "seq": BIGINT,
    **_HASH,
    "span_id": TEXT,
    "event_name": TEXT,
    "time_unix_nano": pa.uint64(),
    "body": TEXT,
    "attributes": TEXT,
    "resource": TEXT,
    "scope": TEXT,
}


@dataclass(slots=True)
class Arrivals:
    """What arrived of a trace, in order of arrival, without exact duplicates."""

    spans: list[SpanRecord] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)
    duplicate_spans: list[int] = field(default_factory=list)
    duplicate_logs: list[int] = field(default_factory=list)


def arrivals_in(spans: pa.Table | None, logs: pa.Table | None) -> dict[str, Arrivals]:
    """Return what arrived of each trace, by its id."""
    found: dict[str, Arrivals] = defaultdict(Arrivals)
    if spans is not None:
        add_spans(found, [column.to_pylist() for column in spans.columns])
    if logs is not None:
        add_logs(found, [column.to_pylist() for column in logs.columns])
    return found


def by_trace(table: pa.Table) -> dict[str, pa.Table]:
    """Return the rows of each trace, by its id, in order of arrival."""
    ordered = table.sort_by([("trace_id", "ascending"), ("seq", "ascending")]).combine_chunks()
    found: dict[str, pa.Table] = {}
    start = 0
    for trace_id, rows in groupby(ordered.column("trace_id").to_pylist()):
        length = sum(1 for _ in rows)
        found[str(trace_id)] = ordered.slice(start, length)
        start += length
    return found


def add_spans(found: dict[str, Arrivals], columns: list[list[Any]]) -> None:
    """Add spans, given column by column, in the order of `SPAN_COLUMNS`."""
    seen: set[tuple[str, str, int, int]] = set()
    resources: dict[str, dict[str, Any]] = {}
    scopes: dict[str, tuple[str, str]] = {}
    for (
        trace_id, seq, hash_high, hash_low, span_id, parent_span_id, name, otel_kind, start_ns,
        end_ns, status, status_message, attributes, events, resource, scope,
        trace_state,
    ) in zip(*columns, strict=True):  # fmt: skip
        arrivals = found[trace_id]
        key = (trace_id, span_id, hash_high, hash_low)
        if key in seen:
            arrivals.duplicate_spans.append(seq)
            continue
        seen.add(key)
        if resource not in resources:
            resources[resource] = _attributes(resource)
        if scope not in scopes:
            scopes[scope] = _scope(scope)
        arrivals.spans.append(
            SpanRecord(
                trace_id=trace_id,
                span_id=span_id,
                parent_span_id=parent_span_id,
                name=name,
                otel_kind=otel_kind,
                start_ns=start_ns,
                end_ns=end_ns,
                status=status,
                status_message=status_message,
                attributes=orjson.loads(attributes),
                events=_events(events),
                resource=resources[resource],
                scope_name=scopes[scope][0],
                scope_version=scopes[scope][1],
                trace_state=trace_state,
                seq=seq,
            )
        )


def add_logs(found: dict[str, Arrivals], columns: list[list[Any]]) -> None:
    """Add log records, given column by column, in the order of `LOG_COLUMNS`."""
    seen: set[tuple[str, str, int, int]] = set()
    for (
        trace_id, seq, hash_high, hash_low, span_id, event_name, time_ns, body, attributes,
        resource, scope,
    ) in zip(*columns, strict=True):  # fmt: skip
        arrivals = found[trace_id]
        key = (trace_id, span_id, hash_high, hash_low)
        if key in seen:
            arrivals.duplicate_logs.append(seq)
            continue
        seen.add(key)
        arrivals.logs.append(
            LogRecord(
                trace_id=trace_id,
                span_id=span_id,
                event_name=event_name,
                time_ns=time_ns,
                body=orjson.loads(body),
                attributes=orjson.loads(attributes),
                resource=_attributes(resource),
                scope_name=_scope(scope)[0],
                seq=seq,
            )
        )


def _attributes(resource: str) -> dict[str, Any]:
    attributes = orjson.loads(resource).get("attributes")
    return attributes if isinstance(attributes, dict) else {}


def _scope(scope: str) -> tuple[str, str]:
    found = orjson.loads(scope)
    return str(found.get("name", "")), str(found.get("version", ""))


def _events(events: str) -> tuple[SpanEvent, ...]:
    if events == "[]":
        return ()
    return tuple(
        SpanEvent(
            name=event["name"],
            time_ns=event.get("time_unix_nano", 0),
            attributes=event.get("attributes") or {},
        )
        for event in orjson.loads(events)
    )
