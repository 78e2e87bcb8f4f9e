"""OTLP requests → Arrow tables: traces and logs, protobuf and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from tracejury_collector.config import Limits
from tracejury_collector.receive import metrics, otlp_json, otlp_proto
from tracejury_collector.receive.columns import LogRows, Rows, SpanRows
from tracejury_collector.redaction import NOTHING, Redactor

Signal = Literal["traces", "logs", "metrics"]
Encoding = Literal["protobuf", "json"]

_MAX_REASONS = 5
_METRICS_REFUSED = "metrics are not kept here; send traces and logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """One request: the rows to store, how many items were rejected, and why.

    `reasons` says how many for each; `redacted`, how often something was taken out of the rows, by
    its name.
    """

    table: pa.Table | None
    rejected: int = 0
    message: str = ""
    reasons: Mapping[str, int] = field(default_factory=dict)
    redacted: Mapping[str, int] = field(default_factory=dict)


def decode(
    signal: Signal,
    encoding: Encoding,
    body: bytes,
    limits: Limits,
    redactor: Redactor = NOTHING,
    *,
    project: str | None = None,
) -> Decoded:
    """Return the rows of an export request; what cannot be taken is rejected one by one.

    They are of `project`, where it is given, whatever their resources say.

    Raises: MalformedRequest where the body as a whole cannot be read; TooLarge.
    """
    if signal == "metrics":
        count = metrics.count_data_points(encoding, body)
        return Decoded(table=None, rejected=count, message=_METRICS_REFUSED if count else "")
    return together([read(signal, encoding, body, limits, redactor, project=project)])[0]


def read(
    signal: Literal["traces", "logs"],
    encoding: Encoding,
    body: bytes,
    limits: Limits,
    redactor: Redactor = NOTHING,
    *,
    project: str | None = None,
) -> Rows[Any]:
    """Return what `decode` makes columns of.

    Raises: as `decode`.
    """
    if signal == "traces":
        spans = SpanRows(limits.decompressed_bytes, redactor, project=project)
        decode_spans = otlp_proto.decode_spans if encoding == "protobuf" else otlp_json.decode_spans
        decode_spans(body, spans, limits)
        return spans
    logs = LogRows(limits.decompressed_bytes, redactor, project=project)
    decode_logs = otlp_proto.decode_logs if encoding == "protobuf" else otlp_json.decode_logs
    decode_logs(body, logs, limits)
    return logs


def together(requests: Sequence[Rows[Any]]) -> list[Decoded]:
    """Return each of the requests, all of the same signal, decoded to the end."""
    first, *others = requests
    return [
        Decoded(
            table=table,
            rejected=rows.rejected.total(),
            message=_message(rows.rejected, rows.noun),
            reasons=rows.rejected,
            redacted=rows.redacted,
        )
        for rows, table in zip(requests, first.tables(others), strict=True)
    ]


def _message(rejected: Counter[str], noun: str) -> str:
    if not rejected:
        return ""
    reasons = [f"{count}: {reason}" for reason, count in rejected.most_common(_MAX_REASONS)]
    if len(rejected) > _MAX_REASONS:
        reasons.append("and other reasons")
    return f"{rejected.total()} {noun} rejected; " + "; ".join(reasons)
