"""Rows of the store as documents of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import orjson

from tracejury.assemble import assemble
from tracejury.rest import Decision, Explanation, Label, Result, TraceDetail, Usage
from tracejury.view import rfc3339, trace_to_api
from tracejury_collector.store import about
from tracejury_collector.store.arrivals import Arrivals
from tracejury_collector.store.labels import labels_of_trace
from tracejury_collector.store.statements import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the database holds of a trace: all that arrived of it, or what is left where that was
    deleted."""

    extent: about.Extent
    own: Arrivals | Row
    results: Sequence[Row]
    decisions: Sequence[Row]
    labels: Sequence[Row]


def find_detail(cursor: duckdb.DuckDBPyConnection, extent: about.Extent) -> Found:
    """Return what there is of a trace.

    Raises: NotFound for a trace that is deleted at this moment.
    """
    is_deleted = extent.spans_deleted_at_ns is not None and not extent.is_open
    return Found(
        extent=extent,
        own=about.remains_of_trace(cursor, extent.trace_id)
        if is_deleted
        else about.load_extent(cursor, extent),
        results=about.results_on(cursor, extent.judged),
        decisions=about.decisions_on(cursor, extent.judged),
        labels=labels_of_trace(cursor, extent.trace_id),
    )


def trace_detail(found: Found) -> TraceDetail:
    """Return the trace, assembled from everything that has arrived of it.

    Where that was deleted, its totals are left.
    """
    extent = found.extent
    own = found.own
    return TraceDetail.model_validate(
        {
            **(_assembled(own, extent) if isinstance(own, Arrivals) else _remains(own, extent)),
            "trace_id": extent.trace_id,
            "revision": extent.revision,
            "status": "open" if extent.is_open else "complete",
            "completed_by": extent.completed_by,
            "results": [result(row) for row in found.results],
            "decisions": [decision(row) for row in found.decisions],
            "labels": [label(row) for row in found.labels],
        }
    )


def _assembled(arrivals: Arrivals, extent: about.Extent) -> dict[str, Any]:
    return trace_to_api(assemble(arrivals.spans, arrivals.logs, revision=extent.revision))


def _remains(row: Row, extent: about.Extent) -> dict[str, Any]:
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
