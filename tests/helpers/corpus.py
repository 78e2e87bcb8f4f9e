"""Real exports of real frameworks: reading them, and comparing what was rebuilt with the facts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracejury.assemble import assemble
from tracejury.trace import LogRecord, SpanEvent, SpanRecord, StatusCode, Trace

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
# Facts that a case expects and its spans do not hold, and what they hold instead.
NOT_RECORDED = {
    ("autogen_native", "turns"): "question and answer stand in different traces of the runtime",
    ("langfuse_sdk", "models"): "langfuse.observation.model.name is the dated name of the answer",
    ("oi_autogen", "models"): "llm.model_name is the dated name of the answer",
}
_STATUS: dict[int, StatusCode] = {0: "unset", 1: "ok", 2: "error"}
_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")


def case_names(corpus: Path = CORPUS) -> list[str]:
    """The names of the recorded cases, sorted."""
    return sorted(path.stem for path in (corpus / "expected").glob("*.json"))


def read_expected(name: str, corpus: Path = CORPUS) -> dict[str, Any]:
    """The facts that the case's captures hold."""
    facts: dict[str, Any] = json.loads((corpus / "expected" / f"{name}.json").read_bytes())
    return facts


def read_case(folder: Path) -> tuple[list[SpanRecord], list[LogRecord]]:
    """The spans and logs of one case, in order of arrival."""
    spans = [s for r in requests(folder, ExportTraceServiceRequest) for s in _spans(r)]
    logs = [x for r in requests(folder / "logs", ExportLogsServiceRequest) for x in _logs(r)]
    return (
        [replace(span, seq=seq) for seq, span in enumerate(spans, 1)],
        [replace(log, seq=seq) for seq, log in enumerate(logs, 1)],
    )


def assemble_case(name: str, corpus: Path = CORPUS) -> list[Trace]:
    """The traces of one case, rebuilt, in order of start."""
    spans, logs = read_case(corpus / "captures" / name)
    found = {span.trace_id: None for span in spans}
    traces = [
        assemble(
            [span for span in spans if span.trace_id == trace_id],
            [log for log in logs if log.trace_id == trace_id],
        )
        for trace_id in found
    ]
    return sorted(traces, key=lambda trace: trace.start_ns)


def requests(folder: Path, kind: type[Any]) -> Iterator[Any]:
    """Yield the requests in a folder, in order of arrival."""
    for path in sorted(folder.glob("[0-9]*.*")):
        if path.suffix == ".pb":
            yield kind.FromString(path.read_bytes())
        elif not path.name.endswith(".meta.json"):
            yield json_format.Parse(path.read_bytes(), kind(), ignore_unknown_fields=True)


def _spans(request: Any) -> Iterator[SpanRecord]:
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_spans:
            for span in scoped.spans:
                yield SpanRecord(
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_span_id=span.parent_span_id.hex().strip("0")
                    and span.parent_span_id.hex(),
                    name=span.name,
                    otel_kind=_KINDS[span.kind],
                    start_ns=span.start_time_unix_nano,
                    end_ns=span.end_time_unix_nano,
                    status=_STATUS[span.status.code],
                    status_message=span.status.message,
                    attributes=_attributes(span.attributes),
                    events=tuple(
                        SpanEvent(
                            name=e.name,
                            time_ns=e.time_unix_nano,
                            attributes=_attributes(e.attributes),
                        )
                        for e in span.events
                    ),
                    resource=resource,
                    scope_name=scoped.scope.name,
                    scope_version=scoped.scope.version,
                )


def _logs(request: Any) -> Iterator[LogRecord]:
    for group in request.resource_logs:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_logs:
            for log in scoped.log_records:
                if log.trace_id:
                    yield LogRecord(
                        trace_id=log.trace_id.hex(),
                        span_id=log.span_id.hex(),
                        event_name=log.event_name,
                        time_ns=log.time_unix_nano or log.observed_time_unix_nano,
                        body=_value(log.body),
                        attributes=_attributes(log.attributes),
                        resource=resource,
                        scope_name=scoped.scope.name,
                    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    which = value.WhichOneof("value")
    if which is None:
        return None
    inner = getattr(value, which)
    if which == "array_value":
        return [_value(item) for item in inner.values]
    if which == "kvlist_value":
        return _attributes(inner.values)
    return base64.b64encode(inner).decode() if which == "bytes_value" else inner
