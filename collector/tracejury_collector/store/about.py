"""What is kept about one trace or session: where it lies, its results, its decisions.

Statements are short, and what can be sorted or joined here is: DuckDB takes longer to plan a
statement over many columns than to find the few rows of one trace.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import duckdb
import orjson

from tracejury_collector.errors import NotFound
from tracejury_collector.rules import TargetKind
from tracejury_collector.store.arrivals import Arrivals
from tracejury_collector.store.loading import SeqRange, load_arrivals
from tracejury_collector.store.reads import ResultFilter
from tracejury_collector.store.statements import Row, fetch_rows, narrowed, read_rows

RESULTS_OF_TARGET = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A trace or session that rules decide on; `first_seq` is where a trace begins.

    Without it what is there of the trace is looked for in all of the history.
    """

    target_kind: TargetKind
    target_id: str
    first_seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Where the arrivals of a trace lie; `revision` is 0 while it was never finished.

    `spans_deleted_at_ns` says that retention has deleted those of its newest revision.
    """

    trace_id: str
    revision: int
    completed_by: str | None
    is_open: bool
    first_seq: int
    last_seq: int
    spans_deleted_at_ns: int | None = None

    @property
    def judged(self) -> Judged:
        """The trace as a target of rules."""
        return Judged(target_kind="trace", target_id=self.trace_id, first_seq=self.first_seq)


def results_on(cursor: duckdb.DuckDBPyConnection, target: Judged) -> list[Row]:
    """Return the results on every revision of a trace or session, newest first, no more than
    `RESULTS_OF_TARGET`."""
    key = asdict(target)
    cursor.execute(*narrowed("results_of_target", key))
    rows = fetch_rows(cursor, RESULTS_OF_TARGET + 1)
    if len(rows) > RESULTS_OF_TARGET:
        newest = ResultFilter(**key, superseded=True, limit=RESULTS_OF_TARGET)
        return read_rows(cursor, "list_results", asdict(newest))
    rows.sort(key=lambda r: (r["created_at_ns"], r["decision_id"], r["evaluator"]), reverse=True)
    return rows


def decisions_on(cursor: duckdb.DuckDBPyConnection, target: Judged) -> list[Row]:
    """Return what the rules decided on every revision of a trace or session, newest first."""
    rows = read_rows(cursor, "decisions_of_target", asdict(target))
    states = _states(cursor, {row["run_id"] for row in rows if row["run_id"]})
    rows.sort(key=lambda row: (-row["revision"], row["rule"], row["decided_at_ns"]))
    return [{**row, "run_state": states.get(row["run_id"])} for row in rows]


def _states(cursor: duckdb.DuckDBPyConnection, run_ids: set[str]) -> dict[str, str]:
    if not run_ids:
        return {}
    ids = {"run_ids": orjson.dumps([*run_ids]).decode()}
    return {row["run_id"]: row["state"] for row in read_rows(cursor, "states_of_runs", ids)}


def place_of_trace(cursor: duckdb.DuckDBPyConnection, trace_id: str) -> int | None:
    """Return where a trace that was finished begins, None for any other."""
    rows = read_rows(cursor, "place_of_trace", {"trace_id": trace_id})
    return rows[0]["first_seq"] if rows else None


def find_trace(cursor: duckdb.DuckDBPyConnection, trace_id: str) -> Extent | None:
    """Return where the arrivals of a trace lie, None for an unknown id."""
    key = {"trace_id": trace_id}
    revisions = read_rows(cursor, "current_revision", key)
    (opened,) = read_rows(cursor, "arrived_of_trace", key)
    is_open = opened["first_seq"] is not None
    parts = [*revisions, *([opened] if is_open else [])]
    if not parts:
        return None
    current = revisions[0] if revisions else {"revision": 0, "completed_by": None}
    places = {
        "first_seq": min(part["first_seq"] for part in parts),
        "last_seq": max(part["last_seq"] for part in parts),
    }
    return Extent(**{**current, **places}, trace_id=trace_id, is_open=is_open)


def remains_of_trace(cursor: duckdb.DuckDBPyConnection, trace_id: str) -> Row:
    """Return what is left of a trace whose spans were deleted.

    Raises: NotFound where the trace is gone by now.
    """
    rows = read_rows(cursor, "remains_of_trace", {"trace_id": trace_id})
    if not rows:
        raise NotFound(f"the trace {trace_id!r} has just been deleted; list the traces again")
    return rows[0]


def load_extent(cursor: duckdb.DuckDBPyConnection, extent: Extent) -> Arrivals:
    """Return what arrived of a trace."""
    wanted = SeqRange(
        trace_id=extent.trace_id, first_seq=extent.first_seq, last_seq=extent.last_seq
    )
    return load_arrivals(cursor, [wanted])[extent.trace_id]
