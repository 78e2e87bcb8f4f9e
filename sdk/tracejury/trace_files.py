"""Traces in files: OTLP exports, and traces as the API or `dump_trace` gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from tracejury.assemble import assemble
from tracejury.codec import load_trace
from tracejury.errors import TracejuryError
from tracejury.otlp_spans import SIGNALS, logs_of, named, read_documents, spans_of
from tracejury.trace import LogRecord, SpanRecord, Trace
from tracejury.view_back import trace_from_api


def read_traces(paths: Sequence[Path]) -> list[Trace]:
    """The traces in the files, in order of start; spans of one trace may lie in several files.

    A file is an OTLP export (JSON, JSON lines, protobuf), or holds traces as
    `GET /api/traces/{trace_id}` answers them, or as `dump_trace` wrote them.

    Raises: TracejuryError naming the file where it is neither, or where there is no trace in any;
    OSError where it cannot be read.
    """
    spans: dict[str, list[SpanRecord]] = {}
    logs: dict[str, list[LogRecord]] = {}
    whole: list[Trace] = []
    for path in paths:
        for document in read_documents(path):
            if _is_trace(document):
                whole.append(_whole(path, document))
                continue
            for span in named(path, spans_of, document):
                if span.trace_id:
                    spans.setdefault(span.trace_id, []).append(span)
            for log in named(path, logs_of, document):
                logs.setdefault(log.trace_id, []).append(log)
    traces = [*whole, *_assembled(spans, logs)]
    if not traces:
        raise TracejuryError(f"{', '.join(map(str, paths))}: holds no spans; name another file")
    return sorted(traces, key=lambda trace: trace.start_ns)


def _assembled(
    spans: dict[str, list[SpanRecord]], logs: dict[str, list[LogRecord]]
) -> Iterator[Trace]:
    for trace_id, of_trace in spans.items():
        yield assemble(_once(of_trace), logs.get(trace_id, []))


def _once(spans: Sequence[SpanRecord]) -> Sequence[SpanRecord]:
    """The spans of one trace; those that the files hold twice once."""
    seen: dict[str, SpanRecord] = {}
    for span in spans:
        seen.setdefault(repr(span), span)
    return list(seen.values())


def _is_trace(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and SIGNALS.isdisjoint(document)
        and isinstance(document.get("trace_id"), str)
    )


def _whole(path: Path, document: dict[str, Any]) -> Trace:
    try:
        if "start_time" in document:
            return trace_from_api(document)
        return load_trace(orjson.dumps(document))
    except ValidationError as error:
        raise TracejuryError(
            f"{path}: is no trace: {error.errors()[0]['msg']}; "
            "save what GET /api/traces/{trace_id} answers, or an OTLP export"
        ) from error
    except TracejuryError as error:
        raise TracejuryError(f"{path}: {error}") from error
