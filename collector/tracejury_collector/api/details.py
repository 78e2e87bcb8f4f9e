"""Rows of the store as documents of the API."""

from __future__ import annotations

from typing import Any

import orjson

from tracejury.assemble import assemble
from tracejury.rest import Decision, Explanation, Label, Result, TraceDetail, Usage
from tracejury.view import rfc3339, trace_to_api
from tracejury_collector.store import labels, reads
from tracejury_collector.store.database import Database


def trace_detail(db: Database, extent: reads.Extent) -> TraceDetail:
    """Return the trace, assembled from everything that has arrived of it.

    Where that was deleted, its totals are left.

    Raises: NotFound for a trace that is deleted at this moment.
    """
    is_deleted = extent.spans_deleted_at_ns is not None and not extent.is_open
    own = _remains(db, extent) if is_deleted else _assembled(db, extent)
    target = reads.Judged(kind="trace", target_id=extent.trace_id, first_seq=extent.first_seq)
    return TraceDetail.model_validate(
        {
            **own,
            "trace_id": extent.trace_id,
            "revision": extent.revision,
            "status": "open" if extent.is_open else "complete",
            "completed_by": extent.completed_by,
            "results": [result(row) for row in reads.results_on(db, target)],
            "decisions": [decision(row) for row in reads.decisions_on(db, target)],
            "labels": [label(row) for row in labels.labels_of_trace(db, extent.trace_id)],
        }
    )


def _assembled(db: Database, extent: reads.Extent) -> dict[str, Any]:
    arrivals = reads.load_extent(db, extent)
    return trace_to_api(assemble(arrivals.spans, arrivals.logs, revision=extent.revision))


def _remains(db: Database, extent: reads.Extent) -> dict[str, Any]:
    row = reads.remains_of_trace(db, extent.trace_id)
    return {
        **{name: value for name, value in row.items() if name in TraceDetail.model_fields},
        "start_time": rfc3339(row["start_time_ns"] or 0),
        "end_time": rfc3339(row["end_time_ns"] or 0),
        "flags": dict.fromkeys(row["flags"], True),
        "usage": {name: row[name] for name in Usage.model_fields},
        "spans_deleted_at": rfc3339(extent.spans_deleted_at_ns or 0),
    }


def result(row: dict[str, Any]) -> Result:
    """Return one result."""
    made = {**row, "details": orjson.loads(row["details"])}
    created_at = rfc3339(made.pop("created_at_ns"))
    return Result.model_validate({**made, "created_at": created_at})


def decision(row: dict[str, Any]) -> Decision:
    """Return one decision."""
    made = dict(row)
    decided_at = rfc3339(made.pop("decided_at_ns"))
    return Decision.model_validate({**made, "decided_at": decided_at})


def label(row: dict[str, Any]) -> Label:
    """Return one label."""
    made = dict(row)
    created_at = rfc3339(made.pop("created_at_ns"))
    received_at = rfc3339(made.pop("received_at_ns"))
    return Label.model_validate({**made, "created_at": created_at, "received_at": received_at})


def explanation(story: dict[str, Any]) -> Explanation:
    """Return the story of a trace with its times as text."""
    return Explanation.model_validate(with_times(story))


def with_times(value: Any) -> Any:
    """Return the value with every `NAME_ns` as `NAME`, in RFC 3339."""
    if isinstance(value, dict):
        return dict(_time_item(key, item) for key, item in value.items())
    return [with_times(item) for item in value] if isinstance(value, list) else value


def _time_item(key: str, item: Any) -> tuple[str, Any]:
    if key.endswith("_ns") and (item is None or isinstance(item, int)):
        return key.removesuffix("_ns"), rfc3339(item or 0)
    return key, with_times(item)
