"""A finished revision as rows of the tables that hold what assembly found in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tracejury.trace import Document, LLMCall, Message, Part, SpanError, ToolCall, Trace, Usage
from tracejury_collector.completion import CompletedBy
from tracejury_collector.store.columns import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    JSON,
    TEXT,
    TEXTS,
    TIME,
    Row,
    arrow_table,
    json_text,
    text_or_null,
    time_or_null,
)

_USAGE = {
    "input_tokens": BIGINT,
    "output_tokens": BIGINT,
    "cache_read_tokens": BIGINT,
    "cache_write_tokens": BIGINT,
    "reasoning_tokens": BIGINT,
}
_KEY = {"trace_id": TEXT, "revision": INTEGER, "first_seq": BIGINT}
_ERROR = {"error_type": TEXT, "error_message": TEXT}

COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "traces": {
        **_KEY,
        "last_seq": BIGINT,
        "project": TEXT,
        "service_name": TEXT,
        "name": TEXT,
        "kind": TEXT,
        "agent_name": TEXT,
        "session_id": TEXT,
        "user_id": TEXT,
        "start_time": TIME,
        "end_time": TIME,
        "latency_ms": DOUBLE,
        "span_count": BIGINT,
        "llm_calls": BIGINT,
        "tool_calls": BIGINT,
        "error_count": BIGINT,
        "has_error": BOOLEAN,
        "input": TEXT,
        "output": TEXT,
        "models": TEXTS,
        **_USAGE,
        "total_tokens": BIGINT,
        "cost_usd": DOUBLE,
        "has_root": BOOLEAN,
        "root_ended": BOOLEAN,
        "flags": TEXTS,
        "completed_by": TEXT,
        "completed_at": TIME,
        "superseded": BOOLEAN,
        "upstream_probability": DOUBLE,
    },
    "tool_calls": {
        **_KEY,
        "position": INTEGER,
        "name": TEXT,
        "arguments": JSON,
        "output": JSON,
        **_ERROR,
        "id": TEXT,
        "start_time": TIME,
        "latency_ms": DOUBLE,
        "span_id": TEXT,
        "source": TEXT,
        "attempt": INTEGER,
        "superseded": BOOLEAN,
    },
    "llm_calls": {
        **_KEY,
        "position": INTEGER,
        "span_id": TEXT,
        "name": TEXT,
        "operation": TEXT,
        "provider": TEXT,
        "model": TEXT,
        "input": JSON,
        "output": JSON,
        "finish_reasons": TEXTS,
        "params": JSON,
        **_USAGE,
        "cost_usd": DOUBLE,
        "cost_source": TEXT,
        "start_time": TIME,
        "latency_ms": DOUBLE,
        "ttft_ms": DOUBLE,
        **_ERROR,
        "superseded": BOOLEAN,
    },
    "messages": {
        **_KEY,
        "position": INTEGER,
        "role": TEXT,
        "name": TEXT,
        "text": TEXT,
        "parts": JSON,
        "finish_reason": TEXT,
        "superseded": BOOLEAN,
    },
    "documents": {
        **_KEY,
        "position": INTEGER,
        "id": TEXT,
        "content": TEXT,
        "score": DOUBLE,
        "metadata": JSON,
        "query": TEXT,
        "span_id": TEXT,
        "superseded": BOOLEAN,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A finished revision: the trace, and what only the store knows of it.

    `first_seq` and `last_seq` enclose everything that belongs to it; `upstream_probability` is the
    chance with which it was kept before it came here, and `former_ns` when the revision before was
    finished, 0 for a first one.
    """

    trace: Trace
    first_seq: int
    last_seq: int
    project: str
    service_name: str
    root_ended: bool
    completed_by: CompletedBy
    completed_at_ns: int
    upstream_probability: float = 1.0
    former_ns: int = 0


class RevisionRows:
    """The rows of many revisions by table, of so many `spans`; keeps no trace."""

    def __init__(self) -> None:
        self.spans = 0
        self._rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}

    def add(self, revision: Revision) -> None:
        """Add what there is to say of a revision."""
        self.spans += len(revision.trace.spans)
        for name, found in revision_rows(revision).items():
            self._rows[name].extend(found)

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables by name."""
        return {name: arrow_table(COLUMNS[name], rows) for name, rows in self._rows.items()}


def joined(parts: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the tables of all parts, at least one, by name."""
    return {name: pa.concat_tables([part[name] for part in parts]) for name in COLUMNS}


def revision_rows(revision: Revision) -> dict[str, list[Row]]:
    """Return the rows of one revision by table, in the order of `COLUMNS`."""
    trace = revision.trace
    key = (trace.trace_id, trace.revision, revision.first_seq)
    return {
        "traces": [_trace_row(revision)],
        "tool_calls": [
            (*key, n, *_tool_call_row(call), False) for n, call in enumerate(trace.tool_calls)
        ],
        "llm_calls": [
            (*key, n, *_llm_call_row(call), False) for n, call in enumerate(trace.llm_calls)
        ],
        "messages": [
            (*key, n, *_message_row(message), False) for n, message in enumerate(trace.messages)
        ],
        "documents": [
            (*key, n, *_document_row(document), False) for n, document in enumerate(trace.documents)
        ],
    }


def _trace_row(revision: Revision) -> Row:
    trace = revision.trace
    flags = trace.flags
    names = ("redacted", flags.redacted), ("truncated", flags.truncated)
    return (
        trace.trace_id,
        trace.revision,
        revision.first_seq,
        revision.last_seq,
        revision.project,
        trace.service_name or revision.service_name,
        trace.name,
        trace.kind,
        text_or_null(trace.agent_name),
        text_or_null(trace.session_id),
        text_or_null(trace.user_id),
        time_or_null(trace.start_ns),
        time_or_null(trace.end_ns),
        trace.latency_ms,
        len(trace.spans),
        len(trace.llm_calls),
        len(trace.tool_calls),
        trace.error_count,
        trace.has_error,
        text_or_null(trace.input_text),
        text_or_null(trace.output_text),
        trace.models,
        *_usage_row(trace.usage),
        trace.usage.total_tokens,
        trace.cost.usd,
        any(not span.parent_span_id for span in trace.spans),
        revision.root_ended,
        [name for name, is_set in (*names, ("not_captured", flags.not_captured)) if is_set],
        revision.completed_by,
        revision.completed_at_ns,
        False,
        revision.upstream_probability,
    )


def _usage_row(usage: Usage) -> Row:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )


def _error_row(error: SpanError | None) -> Row:
    return (error.type, error.message) if error else (None, None)


def _tool_call_row(call: ToolCall) -> Row:
    return (
        call.name,
        json_text(call.arguments),
        json_text(call.output),
        *_error_row(call.error),
        text_or_null(call.id),
        time_or_null(call.start_ns),
        call.latency_ms,
        text_or_null(call.span_id),
        call.source,
        call.attempt,
    )


def _llm_call_row(call: LLMCall) -> Row:
    return (
        call.span_id,
        call.name,
        text_or_null(call.operation),
        text_or_null(call.provider),
        text_or_null(call.model),
        _messages_json(call.input),
        _messages_json(call.output),
        call.finish_reasons,
        json_text(call.params or None),
        *_usage_row(call.usage),
        call.cost.usd,
        call.cost.source,
        time_or_null(call.start_ns),
        call.latency_ms,
        call.ttft_ms,
        *_error_row(call.error),
    )


def _message_row(message: Message) -> Row:
    text = message.text
    says_only_that = len(message.parts) == 1 and message.parts[0].type == "text" and text
    return (
        message.role,
        text_or_null(message.name),
        text_or_null(text),
        "[]" if says_only_that else json_text([_part(part) for part in message.parts]),
        text_or_null(message.finish_reason),
    )


def _messages_json(messages: tuple[Message, ...]) -> str | None:
    return json_text([_message(message) for message in messages]) if messages else None


def _message(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {
        "role": message.role,
        "parts": [_part(part) for part in message.parts],
    }
    if message.name:
        found["name"] = message.name
    if message.finish_reason:
        found["finish_reason"] = message.finish_reason
    return found


def _part(part: Part) -> dict[str, Any]:
    """Return only what the part's type uses."""
    if part.type in ("text", "reasoning", "refusal"):
        return {"type": part.type, "text": part.text}
    if part.type == "tool_call":
        return {"type": part.type, "id": part.id, "name": part.name, "arguments": part.arguments}
    if part.type == "tool_result":
        found = {"type": part.type, "id": part.id, "name": part.name, "output": part.output}
        return {**found, "is_error": True} if part.is_error else found
    return {"type": part.type, "raw": part.raw}


def _document_row(document: Document) -> Row:
    return (
        text_or_null(document.id),
        text_or_null(document.content),
        document.score,
        json_text(document.metadata or None),
        text_or_null(document.query),
        text_or_null(document.span_id),
    )
