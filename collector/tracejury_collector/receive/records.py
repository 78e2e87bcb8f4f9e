"""Spans and log records as decoded, the same from every encoding: ids are hex, values plain."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any, NamedTuple

import orjson

from tracejury_collector.receive.values import Plain, Rejected

_ZERO_TRACE_ID = bytes(16)
_ZERO_SPAN_ID = bytes(8)


class Resource:
    """What the spans of one resource have in common, made ready once.

    `redacted` names what was taken out of it.
    """

    __slots__ = ("attributes", "json", "project", "redacted", "schema_url", "service_name")

    def __init__(
        self,
        attributes: dict[str, Plain],
        dropped: int = 0,
        entity_refs: list[dict[str, Any]] | None = None,
        schema_url: str = "",
        redacted: Collection[str] = (),
    ) -> None:
        document: dict[str, Any] = {"attributes": attributes}
        if dropped:
            document["dropped_attributes_count"] = dropped
        if entity_refs:
            document["entity_refs"] = entity_refs
        self.attributes = attributes
        self.redacted = redacted
        self.json = orjson.dumps(document)
        self.schema_url = schema_url
        self.project = text_or_empty(attributes.get("tracejury.project")) or "default"
        self.service_name = text_or_empty(attributes.get("service.name"))


class Scope:
    """What the spans of one instrumentation scope have in common, made ready once.

    `redacted` names what was taken out of it, or of its resource.
    """

    __slots__ = ("identity", "json", "name", "redacted", "resource", "schema_url")

    def __init__(
        self,
        resource: Resource,
        name: str = "",
        version: str = "",
        attributes: dict[str, Plain] | None = None,
        dropped: int = 0,
        schema_url: str = "",
        redacted: Collection[str] = (),
    ) -> None:
        document: dict[str, Any] = {"name": name, "version": version}
        if attributes:
            document["attributes"] = attributes
        if dropped:
            document["dropped_attributes_count"] = dropped
        self.resource = resource
        self.redacted = redacted
        self.name = name
        self.json = orjson.dumps(document)
        self.schema_url = schema_url
        urls = orjson.dumps([resource.schema_url, schema_url])
        self.identity = hashlib.blake2b(resource.json + self.json + urls, digest_size=16).digest()


class Event(NamedTuple):
    """A span event; attribute values are plain."""

    name: str
    time_unix_nano: int
    attributes: dict[str, Plain]
    dropped: int


class RawSpan(NamedTuple):
    """A span as decoded from either encoding; ids are lower-case hex, values are plain."""

    trace_id: str
    span_id: str
    parent_span_id: str
    trace_state: str
    flags: int
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Plain]
    dropped_attributes: int
    events: list[Event]
    dropped_events: int
    links: list[dict[str, Any]]
    dropped_links: int
    status_code: int
    status_message: str


class RawLog(NamedTuple):
    """A log record as decoded from either encoding; ids are lower-case hex, values are plain."""

    trace_id: str
    span_id: str
    event_name: str
    time_ns: int
    observed_ns: int
    severity_number: int
    severity_text: str
    body: Plain
    attributes: dict[str, Plain]
    dropped_attributes: int
    flags: int


def span_id_text(raw: bytes) -> str:
    """Return a span id as text; one of the wrong length, or all zeros, is not taken.

    Raises: Rejected
    """
    if len(raw) != 8 or raw == _ZERO_SPAN_ID:
        raise Rejected("the span id is not 8 bytes, or is all zeros")
    return raw.hex()


def trace_id_text(raw: bytes) -> str:
    """Return a trace id as text; one of the wrong length, or all zeros, is not taken.

    Raises: Rejected
    """
    if len(raw) != 16 or raw == _ZERO_TRACE_ID:
        raise Rejected("the trace id is not 16 bytes, or is all zeros")
    return raw.hex()


def parent_id_text(raw: bytes) -> str:
    """Return a span id that may be left out as text; "" where it is absent or all zeros.

    Raises: Rejected
    """
    if len(raw) not in (0, 8):
        raise Rejected("the parent span id, or the span id of a log record, is not 8 bytes")
    return "" if raw == _ZERO_SPAN_ID else raw.hex()


def link_json(
    trace_id: str,
    span_id: str,
    trace_state: str,
    attributes: dict[str, Plain],
    dropped: int,
    flags: int,
) -> dict[str, Any]:
    """Return a link as it is stored: what it does not say is left out."""
    link: dict[str, Any] = {"trace_id": trace_id, "span_id": span_id}
    if trace_state:
        link["trace_state"] = trace_state
    if attributes:
        link["attributes"] = attributes
    if dropped:
        link["dropped_attributes_count"] = dropped
    if flags:
        link["flags"] = flags
    return link


def uint32(count: int) -> int:
    """Return `count`, held at the largest 32-bit number."""
    return min(count, 0xFFFF_FFFF)


def text_or_empty(value: Plain) -> str:
    """Return `value` where it is a text, else ""."""
    return value if isinstance(value, str) else ""
