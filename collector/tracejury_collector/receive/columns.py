"""Spans and log records, gathered one by one and built into Arrow tables column by column."""

from __future__ import annotations

import hashlib
import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from tracejury import dialects
from tracejury.labels import is_label_log, is_label_span
from tracejury_collector.canonical import canonical_columns
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
_UNFIT = (pa.ArrowException, OverflowError, UnicodeError, TypeError)
"""What is raised for a value that Arrow cannot hold."""

R = TypeVar("R")

_MAX_TIME_NS = (1 << 63) - 2  # one below what DuckDB reads as infinity
_MAX_INT64 = (1 << 63) - 1
_HASHED_AT_ONCE = 2047
"""Bytes; for more hashlib lets other threads run, and coming back costs more than the hash."""


class Rows(ABC, Generic[R]):
    """Rows of one signal, and why others were rejected."""

    schema: pa.Schema
    noun: str

    def __init__(
        self, shared_bytes: int, redactor: Redactor = NOTHING, *, project: str | None = None
    ) -> None:
        """Take rows that repeat at most `shared_bytes` of resource and scope in all.

        What the redactor finds is taken out of them. They are of `project`, where it is given,
        whatever their resources say.
        """
        self._redacting = Redacting(redactor) if redactor.is_active else None
        self.project = project
        self._rows: list[R] = []
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
        if self.project is not None:
            added.resource.project = self.project
        return added

    @property
    def shared_bytes(self) -> int:
        """How much of resource and scope the rows repeat."""
        return self._shared_bytes - self._shared_left

    @property
    def redacted(self) -> Found:
        """How often something was taken out, by its name."""
        return self._redacting.found if self._redacting else Found()

    def __len__(self) -> int:
        return len(self._rows)

    def table(self) -> pa.Table:
        """Return the rows as one table; a row that Arrow cannot hold is rejected alone."""
        try:
            return self._build(self._rows)
        except _UNFIT:
            self._rows = [row for row in self._rows if self._holds(row)]
            return self._build(self._rows)

    def tables(self, others: Sequence[Self]) -> list[pa.Table]:
        """Return these rows as a table, and those of each of the others, of the same signal.

        They are made at once: for few rows most of the time goes into the columns.
        """
        group = [self, *others]
        try:
            whole = self._build([row for rows in group for row in rows._rows])
        except _UNFIT:
            return [rows.table() for rows in group]
        ends = itertools.accumulate(map(len, group))
        return [
            whole.slice(end - len(rows), len(rows)) for rows, end in zip(group, ends, strict=True)
        ]

    def _holds(self, row: R) -> bool:
        try:
            self._build([row])
        except _UNFIT:
            self.reject("a value cannot be stored")
            return False
        return True

    def _build(self, rows: list[R]) -> pa.Table:
        if not rows:
            return self.schema.empty_table()
        columns = self._columns(rows)
        arrays = [pa.array(columns[field.name], type=field.type) for field in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    @abstractmethod
    def _columns(self, rows: list[R]) -> dict[str, Any]:
        """Return the columns of the schema by name."""

    def _share(self, scope: Scope) -> None:
        self._shared_left -= len(scope.resource.json) + len(scope.json)
        if self._shared_left < 0:
            raise TooLarge(
                "resource and scope, repeated in every row, take more than "
                f"{self._shared_bytes} bytes; send smaller batches"
            )


class _SpanRow(NamedTuple):
    """A span with what follows from it, ready to become part of columns."""

    scope: Scope
    span: RawSpan
    found: dialects.Fields
    attributes: bytes
    events: bytes
    links: bytes
    content_hash: bytes
    marker: bool
    is_label: bool
    labels: str | None


class SpanRows(Rows[_SpanRow]):
    """Rows of the table of spans."""

    schema = SPAN_SCHEMA
    noun = "spans"

    def add(self, scope: Scope, span: RawSpan) -> None:
        """Add one span under `scope`, its canonical fields resolved.

        Raises: TooLarge, Rejected
        """
        self._share(scope)
        if self._redacting:
            span = self._redacting.span(scope, span)
        attributes = orjson.dumps(span.attributes)
        events = _events_json(span.events)
        links = orjson.dumps(span.links) if span.links else b"[]"
        found = dialects.resolve(
            scope_name=scope.name,
            resource=scope.resource.attributes,
            name=span.name,
            attributes=span.attributes,
            events=[(event.name, event.attributes) for event in span.events],
            otel_kind=_otel_kind(span.kind),
        )
        marker = span.attributes.get("tracejury.trace.complete") is True
        self._rows.append(
            _SpanRow(
                scope,
                span,
                found,
                attributes,
                events,
                links,
                _content_hash(
                    scope,
                    [*span[:9], span.dropped_attributes, span.dropped_events, *span[14:]],
                    attributes + events + links,
                ),
                marker,
                is_label_span(span.name, span.attributes) and not marker,
                labels_of_span(scope, span, found),
            )
        )

    def _columns(self, rows: list[_SpanRow]) -> dict[str, Any]:
        scopes, spans, found, attributes, events, links, hashes, marker, is_label, labels = zip(
            *rows, strict=True
        )
        (
            trace_id, span_id, parent_span_id, trace_state, flags, name, kind, start_ns, end_ns,
            values, dropped_attributes, _, dropped_events, _, dropped_links, status, message,
        ) = zip(*spans, strict=True)  # fmt: skip
        start = np.array(start_ns, dtype=np.uint64)
        end = np.array(end_ns, dtype=np.uint64)
        return {
            "trace_id": trace_id,
            "span_id": span_id,
            "parent_span_id": parent_span_id,
            "name": name,
            "otel_kind": list(map(_otel_kind, kind)),
            "start_time": _times(start),
            "end_time": _times(end),
            "duration_ns": _durations(start, end),
            "status": [_STATUSES[code] if 0 <= code < 3 else "unset" for code in status],
            "status_message": message,
            **canonical_columns(found, values),
            "attributes": attributes,
            "events": events,
            "links": links,
            **_scope_columns(scopes),
            "trace_state": trace_state,
            "flags": flags,
            "dropped_attributes_count": dropped_attributes,
            "dropped_events_count": dropped_events,
            "dropped_links_count": dropped_links,
            "start_time_unix_nano": start,
            "end_time_unix_nano": end,
            **_hash_columns(hashes),
            "marker": marker,
            "is_label": is_label,
            "labels": labels,
        }


class _LogRow(NamedTuple):
    """A log record with what follows from it, ready to become part of columns."""

    scope: Scope
    log: RawLog
    event_name: str
    body: bytes
    attributes: bytes
    content_hash: bytes
    is_label: bool
    labels: str | None


class LogRows(Rows[_LogRow]):
    """Rows of the table of log records."""

    schema = LOG_SCHEMA
    noun = "log records"

    def add(self, scope: Scope, log: RawLog) -> None:
        """Add one log record under `scope`.

        Raises: TooLarge, Rejected
        """
        self._share(scope)
        if self._redacting:
            log = self._redacting.log(scope, log)
        attributes, body = orjson.dumps(log.attributes), orjson.dumps(log.body)
        event_name = log.event_name or text_or_empty(log.attributes.get("event.name"))
        is_label = is_label_log(event_name)
        dialects.active().count_event(scope.name, event_name, log.body or log.attributes)
        self._rows.append(
            _LogRow(
                scope,
                log,
                event_name,
                body,
                attributes,
                _content_hash(scope, [*log[:7], *log[9:]], body + attributes),
                is_label,
                labels_of_log(scope, log) if is_label else None,
            )
        )

    def _columns(self, rows: list[_LogRow]) -> dict[str, Any]:
        scopes, logs, event_name, body, attributes, hashes, is_label, labels = zip(
            *rows, strict=True
        )
        (
            trace_id, span_id, _, time_ns, observed_ns, severity_number, severity_text, _, _,
            dropped_attributes, flags,
        ) = zip(*logs, strict=True)  # fmt: skip
        time = np.array(time_ns, dtype=np.uint64)
        observed = np.array(observed_ns, dtype=np.uint64)
        return {
            "trace_id": trace_id,
            "span_id": span_id,
            "event_name": event_name,
            "time": _times(time),
            "observed_time": _times(observed),
            "severity_number": severity_number,
            "severity_text": severity_text,
            "body": body,
            "attributes": attributes,
            **_scope_columns(scopes),
            "flags": flags,
            "dropped_attributes_count": dropped_attributes,
            "time_unix_nano": time,
            "observed_time_unix_nano": observed,
            **_hash_columns(hashes),
            "is_label": is_label,
            "labels": labels,
        }


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


def _content_hash(scope: Scope, scalars: list[Any], documents: bytes) -> bytes:
    content = memoryview(scope.identity + orjson.dumps(scalars) + documents)
    found = hashlib.blake2b(digest_size=16)
    for start in range(0, len(content), _HASHED_AT_ONCE):
        found.update(content[start : start + _HASHED_AT_ONCE])
    return found.digest()


def _otel_kind(kind: int) -> str:
    return _OTEL_KINDS[kind] if 0 <= kind < 6 else "unspecified"


def _scope_columns(scopes: Sequence[Scope]) -> dict[str, list[Any]]:
    resources = [scope.resource for scope in scopes]
    return {
        "project": [resource.project for resource in resources],
        "service_name": [resource.service_name for resource in resources],
        "resource": [resource.json for resource in resources],
        "scope": [scope.json for scope in scopes],
        "resource_schema_url": [resource.schema_url for resource in resources],
        "scope_schema_url": [scope.schema_url for scope in scopes],
    }


def _hash_columns(hashes: Sequence[bytes]) -> dict[str, NDArray[np.uint64]]:
    halves = np.frombuffer(b"".join(hashes), dtype=">u8").astype(np.uint64).reshape(-1, 2)
    return {"content_hash_high": halves[:, 0], "content_hash_low": halves[:, 1]}


def _times(times_ns: NDArray[np.uint64]) -> pa.Array[Any]:
    """Return the times; 0 stands for none."""
    clamped = np.minimum(times_ns, _MAX_TIME_NS).astype(np.int64)
    return pa.array(clamped, mask=times_ns == 0).cast(pa.timestamp("ns"))


def _durations(start_ns: NDArray[np.uint64], end_ns: NDArray[np.uint64]) -> pa.Array[Any]:
    """Return end less start, no less than 0, where both are known."""
    lasted = np.where(end_ns > start_ns, end_ns - start_ns, 0)
    known = (start_ns != 0) & (end_ns != 0)
    return pa.array(np.minimum(lasted, _MAX_INT64).astype(np.int64), mask=~known)


def check_count(count: int, limits: Limits) -> None:
    """Say whether one request may hold `count` spans or log records.

    Raises: TooLarge
    """
    if count > limits.spans_per_request:
        raise TooLarge(
            f"more than {limits.spans_per_request} spans or log records in one request; "
            "send smaller batches"
        )
