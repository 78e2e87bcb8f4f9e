"""The Arrow schemas of what the receiver hands to the store."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_TEXT = pa.string()
_TIME = pa.timestamp("ns")


def _required(*names: str, type_: pa.DataType = _TEXT) -> list[pa.Field[Any]]:
    return [pa.field(name, type_, nullable=False) for name in names]


def _optional(*names: str, type_: pa.DataType = _TEXT) -> list[pa.Field[Any]]:
    return [pa.field(name, type_) for name in names]


SPAN_SCHEMA = pa.schema(
    [
        *_required("trace_id", "span_id", "parent_span_id", "project", "service_name"),
        *_required("name", "kind", "otel_kind"),
        *_optional("start_time", "end_time", type_=_TIME),
        *_optional("duration_ns", type_=pa.int64()),
        *_required("status", "status_message"),
        *_optional("error_type", "error_message", "dialect", "session_id", "user_id"),
        *_optional("agent_name", "provider", "model", "operation", "input", "output"),
        *_optional("tool_name", "tool_call_id", "tool_arguments", "tool_result"),
        *_optional("input_path", "output_path", "tool_arguments_path", "tool_result_path"),
        *_optional("input_tokens", "output_tokens", "cache_read_tokens", type_=pa.int64()),
        *_optional("cache_write_tokens", "reasoning_tokens", type_=pa.int64()),
        *_optional("cost_usd", type_=pa.float64()),
        *_required("attributes", "events", "links", "resource", "scope"),
        *_required("resource_schema_url", "scope_schema_url", "trace_state"),
        *_required("flags", "dropped_attributes_count", type_=pa.uint32()),
        *_required("dropped_events_count", "dropped_links_count", type_=pa.uint32()),
        *_required("start_time_unix_nano", "end_time_unix_nano", type_=pa.uint64()),
        *_required("content_hash_high", "content_hash_low", type_=pa.uint64()),
        *_required("marker", "is_label", type_=pa.bool_()),
        *_optional("labels"),
    ]
)
"""One span: `base.spans` without `seq` and `received_at`; `marker`: its trace is done; `is_label`:
it is a label and no part of its trace; `labels`: JSON of the labels that it carries."""

LOG_SCHEMA = pa.schema(
    [
        *_required("trace_id", "span_id", "project", "service_name", "event_name"),
        *_optional("time", "observed_time", type_=_TIME),
        *_required("severity_number", type_=pa.int32()),
        *_required("severity_text", "body", "attributes", "resource", "scope"),
        *_required("resource_schema_url", "scope_schema_url"),
        *_required("flags", "dropped_attributes_count", type_=pa.uint32()),
        *_required("time_unix_nano", "observed_time_unix_nano", type_=pa.uint64()),
        *_required("content_hash_high", "content_hash_low", type_=pa.uint64()),
        *_required("is_label", type_=pa.bool_()),
        *_optional("labels"),
    ]
)
"""One log record: `base.logs` without `seq` and `received_at`, and the same two."""

SCHEMAS = {"spans": SPAN_SCHEMA, "logs": LOG_SCHEMA}

JSON_COLUMNS = frozenset({"attributes", "events", "links", "resource", "scope", "body"})
"""Text columns that hold JSON documents."""
