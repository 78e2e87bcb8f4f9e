"""Spans and log records of many traces at once, as assembly takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import duckdb
import pyarrow as pa

from tracejury_collector.errors import TooLarge
from tracejury_collector.store.arrivals import LOG_COLUMNS, SPAN_COLUMNS, Arrivals, arrivals_in
from tracejury_collector.store.columns import BIGINT, TEXT, arrow_table
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

MAX_LOADED_BYTES = 128 << 20
"""As objects they take ten times as much and more."""
MERGE_GAP = 100_000
"""Sequence ranges closer than this are read in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeqRange:
    """Where arrivals of a trace lie; both ends belong to it."""

    trace_id: str
    first_seq: int
    last_seq: int


def load_arrivals(
    cursor: duckdb.DuckDBPyConnection, ranges: Iterable[SeqRange]
) -> dict[str, Arrivals]:
    """Return what arrived of each trace inside its ranges; ranges of one trace must not overlap.

    Raises: TooLarge
    """
    return arrivals_in(*load_tables(cursor, ranges))


def load_tables(
    cursor: duckdb.DuckDBPyConnection, ranges: Iterable[SeqRange]
) -> tuple[pa.Table, pa.Table]:
    """Return (spans, logs) of traces inside their ranges; those of one trace must not overlap.

    Raises: TooLarge
    """
    spans, logs = [arrow_table(SPAN_COLUMNS, [])], [arrow_table(LOG_COLUMNS, [])]
    for group in neighbors(ranges):
        bounds = [group[0].first_seq, max(r.last_seq for r in group)]
        spans.append(_spans(cursor, group, bounds))
        if cursor.execute(statement("has_logs"), bounds).fetchall():
            logs.append(_logs(cursor, group, bounds))
    return pa.concat_tables(spans), pa.concat_tables(logs)


def neighbors(ranges: Iterable[SeqRange]) -> list[list[SeqRange]]:
    """Return the ranges in groups that lie close together, so that what is between is not read."""
    groups: list[list[SeqRange]] = []
    end = 0
    for item in sorted(ranges, key=lambda r: r.first_seq):
        if groups and item.first_seq <= end + MERGE_GAP:
            groups[-1].append(item)
            end = max(end, item.last_seq)
        else:
            groups.append([item])
            end = item.last_seq
    return groups


def _wanted(group: Sequence[SeqRange]) -> pa.Table:
    columns = {"trace_id": TEXT, "first_seq": BIGINT, "last_seq": BIGINT}
    return arrow_table(columns, [(r.trace_id, r.first_seq, r.last_seq) for r in group])


def _spans(
    cursor: duckdb.DuckDBPyConnection, group: Sequence[SeqRange], bounds: Sequence[int]
) -> pa.Table:
    if len(group) > 1:
        return _joined(cursor, "load_spans", group, bounds)
    return _table(cursor, "load_spans_of_trace", asdict(group[0])).sort_by("seq")


def _logs(
    cursor: duckdb.DuckDBPyConnection, group: Sequence[SeqRange], bounds: Sequence[int]
) -> pa.Table:
    if len(group) > 1:
        return _joined(cursor, "load_logs", group, bounds)
    return _table(cursor, "load_logs_of_trace", asdict(group[0])).sort_by("seq")


def _joined(
    cursor: duckdb.DuckDBPyConnection, name: str, group: Sequence[SeqRange], bounds: Sequence[int]
) -> pa.Table:
    with registered(cursor, wanted=_wanted(group)):
        return _table(cursor, name, bounds)


def _table(
    cursor: duckdb.DuckDBPyConnection, name: str, params: Sequence[int] | Mapping[str, object]
) -> pa.Table:
    table = cursor.execute(statement(name), params).to_arrow_table()
    if table.nbytes > MAX_LOADED_BYTES:
        raise TooLarge(
            f"{table.nbytes >> 20} MiB of spans are too many to assemble at a time; "
            f"{MAX_LOADED_BYTES >> 20} MiB are possible"
        )
    return table
