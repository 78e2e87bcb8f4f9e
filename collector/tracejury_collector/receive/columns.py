"""Rows of spans and log records, gathered one by one and built into Arrow tables at the end."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import orjson
import pyarrow as pa

from tracejury import dialects
from tracejury.labels import is_label_log, is_label_span
from tracejury_collector.canonical import canonical_values
from tracejury_collector.config import Limits
from tracejury_collector.errors import TooLarge
from tracejury_collector.receive.labels import labels_of_log, labels_of_span
from tracejury_collector.receive.records import (
    Event,
    RawLog,
    RawSpan,
    Scope,
    text_or_empty,
)
from tracejury_collector.receive.redacting import Redacting
from tracejury_collector.redaction import NOTHING, Found, Redactor
from tracejury_collector.store.schema import LOG_SCHEMA, SPAN_SCHEMA

_OTEL_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUSES = ("unset", "ok", "error")
_MAX_TIME_NS = (1 << 63) - 2  # one below what DuckDB reads as infinity
_MAX_INT64 = (1 << 63) - 1


class Rows:
    """Rows of one signal, and why others were rejected."""

    schema: pa.Schema
    types: list[pa.DataType]

    def __init__(
        self, shared_bytes: int, redactor: Redactor = NOTHING, *, project: str | None = None
    ) -> None:
        """Take rows that repeat at most `shared_bytes` of resource and scope in all.

        What the redactor finds is taken out of them. They are of `project`, where it is given,
        whatever their resources say.
        """
        self._redacting = Redacting(redactor) if redactor.is_active else None
        self._project = project
        self._rows: list[tuple[Any, ...]] = []
        self._shared_bytes = self._shared_left = shared_bytes
        self.rejected: Counter[str] = Counter()

    def reject(self, reason: str, count: int = 1) -> None:
        """Count `count` spans or log records that cannot be taken."""
        self.rejected[reason] += count

    def scope(self, scope: Scope) -> Scope:
        """Return the scope as its rows are to be added under it.

        Raises: Rejected
        """
        added = self._redacting.scope(scope) if self._redacting else scope
        if self._project is not None:
            added.resource.project = self._project
        return added

    @property
    def redacted(self) -> Found:
        """How often something was taken out, by its name."""
        return self._redacting.found if self._redacting else Found()

    def table(self) -> pa.Table:
        """Return the rows as one table; a row that Arrow cannot hold is rejected alone."""
        try:
            return self._build(self._rows)
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError):
            return self._build([row for row in self._rows if self._holds(row)])

    def _holds(self, row: tuple[Any, ...]) -> bool:
        try:
            self._build([row])
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError):
            self.reject("a value cannot be stored")
            return False
        return True

    def _build(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        if not rows:
            return self.schema.empty_table()
        columns = zip(*rows, strict=True)
        arrays = [
            pa.array(column, type=type_) for column, type_ in zip(columns, self.types, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _share(self, scope: Scope) -> None:
        self._shared_left -= len(scope.resource.json) + len(scope.json)
        if self._shared_left < 0:
            raise TooLarge(
                "resource and scope, repeated in every row, take more than "
                f"{self._shared_bytes} bytes; send smaller batches"
            )


class SpanRows(Rows):
    """Rows of the table of spans."""

    schema = SPAN_SCHEMA
    types = SPAN_SCHEMA.types

    def add(self, scope: Scope, span: RawSpan) -> None:
        """Add one span under `scope`, its canonical fields resolved.

        Raises: TooLarge, Rejected
        """
        self._share(scope)
        if self._redacting:
            span = self._redacting.span(scope, span)
        resource = scope.resource
        attributes = orjson.dumps(span.attributes)
        events = _events_json(span.events)
        links = orjson.dumps(span.links) if span.links else b"[]"
        high, low = _content_hash(
            scope,
            [*span[:9], span.dropped_attributes, span.dropped_events, *span[14:]],
            attributes + events + links,
        )
        otel_kind = _OTEL_KINDS[span.kind] if 0 <= span.kind < 6 else "unspecified"
        found = dialects.resolve(
            scope_name=scope.name,
            resource=resource.attributes,
            name=span.name,
            attributes=span.attributes,
            events=[(event.name, event.attributes) for event in span.events],
            otel_kind=otel_kind,
        )
        kind, *canonical = canonical_values(found, span.attributes)
        marker = span.attributes.get("tracejury.trace.complete") is True
        self._rows.append(
            (
                span.trace_id,
                span.span_id,
                span.parent_span_id,
                resource.project,
                resource.service_name,
                span.name,
                kind,
                otel_kind,
                _time(span.start_ns),
                _time(span.end_ns),
                _duration(span.start_ns, span.end_ns),
                _STATUSES[span.status_code] if 0 <= span.status_code < 3 else "unset",
                span.status_message,
                *canonical,
                attributes,
                events,
                links,
                resource.json,
                scope.json,
                resource.schema_url,
                scope.schema_url,
                span.trace_state,
                span.flags,
                span.dropped_attributes,
                span.dropped_events,
                span.dropped_links,
                span.start_ns,
                span.end_ns,
                high,
                low,
                marker,
                is_label_span(span.name, span.attributes) and not marker,
                labels_of_span(scope, span, found),
            )
        )


class LogRows(Rows):
    """Rows of the table of log records."""

    schema = LOG_SCHEMA
    types = LOG_SCHEMA.types

    def add(self, scope: Scope, log: RawLog) -> None:
        """Add one log record under `scope`.

        Raises: TooLarge, Rejected
        """
        self._share(scope)
        if self._redacting:
            log = self._redacting.log(scope, log)
        resource = scope.resource
        attributes, body = orjson.dumps(log.attributes), orjson.dumps(log.body)
        high, low = _content_hash(scope, [*log[:7], *log[9:]], body + attributes)
        event_name = log.event_name or text_or_empty(log.attributes.get("event.name"))
        is_label = is_label_log(event_name)
        dialects.active().count_event(scope.name, event_name, log.body or log.attributes)
        self._rows.append(
            (
                log.trace_id,
                log.span_id,
                resource.project,
                resource.service_name,
                event_name,
                _time(log.time_ns),
                _time(log.observed_ns),
                log.severity_number,
                log.severity_text,
                body,
                attributes,
                resource.json,
                scope.json,
                resource.schema_url,
                scope.schema_url,
                log.flags,
                log.dropped_attributes,
                log.time_ns,
                log.observed_ns,
                high,
                low,
                is_label,
                labels_of_log(scope, log) if is_label else None,
            )
        )


def _events_json(events: list[Event]) -> bytes:
    if not events:
        return b"[]"
    items = []
    for name, time_unix_nano, attributes, dropped in events:
        item = {"name": name, "time_unix_nano": time_unix_nano, "attributes": attributes}
        if dropped:
            item["dropped_attributes_count"] = dropped
        items.append(item)
    return orjson.dumps(items)


def _content_hash(scope: Scope, scalars: list[Any], documents: bytes) -> tuple[int, int]:
    content = scope.identity + orjson.dumps(scalars) + documents
    digest = int.from_bytes(hashlib.blake2b(content, digest_size=16).digest())
    return digest >> 64, digest & 0xFFFF_FFFF_FFFF_FFFF


def _time(time_ns: int) -> int | None:
    return min(time_ns, _MAX_TIME_NS) if time_ns else None


def _duration(start_ns: int, end_ns: int) -> int | None:
    return max(0, min(end_ns - start_ns, _MAX_INT64)) if start_ns and end_ns else None


def check_count(count: int, limits: Limits) -> None:
    """Say whether one request may hold `count` spans or log records.

    Raises: TooLarge
    """
    if count > limits.spans_per_request:
        raise TooLarge(
            f"more than {limits.spans_per_request} spans or log records in one request; "
            "send smaller batches"
        )
