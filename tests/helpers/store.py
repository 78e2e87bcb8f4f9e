"""Builders of the rows that the receiver hands to the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from tracejury_collector.store.schema import LOG_SCHEMA, SPAN_SCHEMA

START_NS = 1_790_000_000_000_000_837  # digits below a microsecond, as real clocks have
Row = dict[str, Any]

_RESOURCE = '{"attributes":{"service.name":"booking"}}'
_SCOPE = '{"name":"tests","version":"1"}'


def span_row(**overrides: Any) -> Row:
    """Return one span as the receiver decodes it; its content hash follows from its content."""
    row: Row = {
        "trace_id": "0" * 31 + "1",
        "span_id": "0" * 15 + "1",
        "parent_span_id": "",
        "project": "default",
        "service_name": "booking",
        "name": "chat",
        "kind": "llm",
        "otel_kind": "client",
        "start_time": START_NS,
        "end_time": START_NS + 1_000_000,
        "duration_ns": 1_000_000,
        "status": "ok",
        "status_message": "",
        "attributes": '{"gen_ai.operation.name":"chat"}',
        "events": "[]",
        "links": "[]",
        "resource": _RESOURCE,
        "scope": _SCOPE,
        "resource_schema_url": "",
        "scope_schema_url": "",
        "trace_state": "",
        "flags": 0,
        "dropped_attributes_count": 0,
        "dropped_events_count": 0,
        "dropped_links_count": 0,
        "start_time_unix_nano": START_NS,
        "end_time_unix_nano": START_NS + 1_000_000,
        "marker": False,
        "is_label": False,
    }
    return _hashed({**row, **overrides})


def log_row(**overrides: Any) -> Row:
    """Return one log record as the receiver decodes it."""
    row: Row = {
        "trace_id": "0" * 31 + "1",
        "span_id": "0" * 15 + "1",
        "project": "default",
        "service_name": "booking",
        "event_name": "gen_ai.user.message",
        "time": START_NS,
        "observed_time": START_NS,
        "severity_number": 9,
        "severity_text": "INFO",
        "body": '{"content":"hello"}',
        "attributes": "{}",
        "resource": _RESOURCE,
        "scope": _SCOPE,
        "resource_schema_url": "",
        "scope_schema_url": "",
        "flags": 0,
        "dropped_attributes_count": 0,
        "time_unix_nano": START_NS,
        "observed_time_unix_nano": START_NS,
        "is_label": False,
    }
    return _hashed({**row, **overrides})


def span_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the rows as the receiver sends them."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=SPAN_SCHEMA)


def log_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the log records as the receiver sends them."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=LOG_SCHEMA)


def _hashed(row: Row) -> Row:
    digest = hashlib.blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).digest()
    high, low = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
    return {"content_hash_high": high, "content_hash_low": low, **row}
