"""Results as `gen_ai.evaluation.result` events in an OTLP request.

Source: OpenTelemetry semantic conventions for generative AI, event `gen_ai.evaluation.result`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs

from tracejury_collector.store.exports import ExportResult

EVENT_NAME = "gen_ai.evaluation.result"
SERVICE_NAME = "tracejury"
SCOPE_NAME = "tracejury.export"
_TRACE_BYTES, _SPAN_BYTES = 16, 8
Value = str | int | float | bool | None


def request_of(results: Sequence[ExportResult], version: str) -> ExportLogsServiceRequest:
    """Return the request that carries the results: a resource for each project."""
    by_project = groupby(sorted(results, key=lambda r: r.project), key=lambda r: r.project)
    return ExportLogsServiceRequest(
        resource_logs=[_resource(project, rows, version) for project, rows in by_project]
    )


def result_id(result: ExportResult) -> str:
    """Return the id of a result: the same however often it is sent."""
    parts = (result.decision_id, result.fingerprint, result.criteria_hash)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _resource(project: str, results: Iterable[ExportResult], version: str) -> ResourceLogs:
    found = ResourceLogs()
    found.resource.attributes.extend(
        _attributes(
            [
                ("service.name", SERVICE_NAME),
                ("service.version", version),
                ("tracejury.project", project or None),
            ]
        )
    )
    scope: ScopeLogs = found.scope_logs.add()
    scope.scope.name, scope.scope.version = SCOPE_NAME, version
    scope.log_records.extend(_record(result) for result in results)
    return found


def _record(result: ExportResult) -> LogRecord:
    return LogRecord(
        event_name=EVENT_NAME,
        time_unix_nano=result.created_at_ns,
        observed_time_unix_nano=result.created_at_ns,
        trace_id=_id_bytes(result.trace_id, _TRACE_BYTES),
        span_id=_id_bytes(result.span_id, _SPAN_BYTES),
        attributes=_attributes(_facts(result)),
    )


def _facts(result: ExportResult) -> Iterator[tuple[str, Value]]:
    yield "gen_ai.evaluation.name", result.evaluator
    yield "gen_ai.evaluation.score.value", result.score
    yield "gen_ai.evaluation.score.label", result.verdict
    yield "gen_ai.evaluation.explanation", result.reason or None
    yield "gen_ai.conversation.id", _session_id(result)
    yield "error.type", result.error_type
    yield "tracejury.result.id", result_id(result)
    yield "tracejury.outcome", result.outcome
    yield "tracejury.evaluator.type", result.type
    yield "tracejury.evaluator.fingerprint", result.fingerprint
    yield "tracejury.rule", result.rule or None
    yield "tracejury.run.id", result.run_id or None
    yield "tracejury.target", result.target_kind
    yield "tracejury.revision", result.revision
    yield "tracejury.superseded", True if result.superseded else None


def _session_id(result: ExportResult) -> str | None:
    return result.target_id if result.target_kind == "session" else result.session_id


def _attributes(pairs: Iterable[tuple[str, Value]]) -> Iterator[KeyValue]:
    """Yield the attributes whose value is known."""
    for key, value in pairs:
        if value is not None:
            yield KeyValue(key=key, value=_any_value(value))


def _any_value(value: str | int | float | bool) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=value)


def _id_bytes(text: str, size: int) -> bytes:
    """Return the id on the wire; empty where there is none."""
    return bytes.fromhex(text) if len(text) == 2 * size else b""
