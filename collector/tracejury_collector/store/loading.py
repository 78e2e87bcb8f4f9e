"""Spans and log records of many traces at once, as assembly takes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from tracejury.trace import LogRecord, SpanEvent, SpanRecord
from tracejury_collector.errors import TooLarge
from tracejury_collector.store.columns import BIGINT, TEXT, arrow_table
from tracejury_collector.store.statements import statement

MAX_LOADED_BYTES = 128 << 20
"""As objects they take ten times as much and more."""
MERGE_GAP = 100_000
"""Sequence ranges closer than this are read in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeqRange:
    """Where arrivals of a trace lie; both ends belong to it."""

    trace_id: str
    first_seq: int
    last_seq: int


@dataclass(slots=True)
class Arrivals:
    """What arrived of a trace, in order of arrival, without exact duplicates."""

    spans: list[SpanRecord] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)
    duplicate_spans: list[int] = field(default_factory=list)
    duplicate_logs: list[int] = field(default_factory=list)


def load_arrivals(
    cursor: duckdb.DuckDBPyConnection, ranges: Iterable[SeqRange]
) -> dict[str, Arrivals]:
    """Return what arrived of each trace inside its ranges; ranges of one trace must not overlap."""
    found: dict[str, Arrivals] = defaultdict(Arrivals)
    for group in _neighbors(ranges):
        cursor.register("wanted", _wanted(group))
        bounds = [group[0].first_seq, max(r.last_seq for r in group)]
        add_spans(found, _columns(cursor, "load_spans", bounds))
        if cursor.execute(statement("has_logs"), bounds).fetchall():
            add_logs(found, _columns(cursor, "load_logs", bounds))
        cursor.unregister("wanted")
    return found


def _neighbors(ranges: Iterable[SeqRange]) -> list[list[SeqRange]]:
    """Return the ranges in groups that lie close together, so that what is between is not read."""
    groups: list[list[SeqRange]] = []
    end = 0
    for item in sorted(ranges, key=lambda r: r.first_seq):
        if groups and item.first_seq <= end + MERGE_GAP:
            groups[-1].append(item)
            end = max(end, item.last_seq)
        else:
            groups.append([item])
            end = item.last_seq
    return groups


def _wanted(group: Sequence[SeqRange]) -> pa.Table:
    columns = {"trace_id": TEXT, "first_seq": BIGINT, "last_seq": BIGINT}
    return arrow_table(columns, [(r.trace_id, r.first_seq, r.last_seq) for r in group])


def _columns(
    cursor: duckdb.DuckDBPyConnection, name: str, bounds: Sequence[int]
) -> list[list[Any]]:
    table = cursor.execute(statement(name), bounds).to_arrow_table()
    if table.nbytes > MAX_LOADED_BYTES:
        raise TooLarge(
            f"{table.nbytes >> 20} MiB of spans are too many to assemble at a time; "
            f"{MAX_LOADED_BYTES >> 20} MiB are possible"
        )
    return [column.to_pylist() for column in table.columns]


def add_spans(found: dict[str, Arrivals], columns: list[list[Any]]) -> None:
    """Add spans, given column by column as `load_spans.sql` selects them."""
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
    """Add log records, given column by column as `load_logs.sql` selects them."""
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
