"""Judging a batch of runs by one SELECT of a user."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from tracejury.result import Failure, Outcome, Skip
from tracejury_collector.errors import SqlRefused, Unavailable
from tracejury_collector.store.columns import INTEGER, TEXT, arrow_table
from tracejury_collector.store.database import Database
from tracejury_collector.store.query import fetch
from tracejury_collector.store.registered import registered
from tracejury_collector.store.sqlguard import check_subselect, refusal
from tracejury_collector.store.watch import watched
from tracejury_evaluators.sql import FIELDS, Sql

QUERY_S = 10.0
MAX_BYTES = 16 << 20
ROWS_PER_TARGET = 2
"""More rows than this say that a run has several, which is looked into run by run."""

Target = tuple[str, int]

_EMPTY = "SELECT NULL::VARCHAR AS trace_id, NULL::INTEGER AS revision WHERE false"
_CURRENT = "FROM judged_targets SEMI JOIN traces USING (trace_id, revision)"
_SCORES = ("DOUBLE", "FLOAT", "DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_TYPES: Mapping[str, tuple[str, ...]] = {
    "trace_id": ("VARCHAR",),
    "revision": ("INTEGER", "BIGINT"),
    "score": (*_SCORES, *(f"U{name}" for name in _SCORES if name.endswith("INT")), "UINTEGER"),
    "passed": ("BOOLEAN",),
    "verdict": ("VARCHAR",),
    "reason": ("VARCHAR",),
    "hits": ("VARCHAR[]",),
    "misses": ("VARCHAR[]",),
    "evidence": ("VARCHAR[]",),
}


def check_judging(query: Sql) -> None:
    """Check that the query is allowed, that its names are known, and what it gives.

    Raises: SqlRefused with the fault and the remedy.
    """
    columns = check_subselect(query.sql, _asked(query, _EMPTY), frozenset({"targets"}))
    for name, type_ in columns.items():
        known = _TYPES.get(name)
        if known is None:
            raise SqlRefused(f"it gives a column {name!r}; it may give {', '.join(_TYPES)}")
        if type_.partition("(")[0] not in known:
            raise SqlRefused(f"its column {name!r} is {type_}; CAST it to {known[0]}")
    if "trace_id" not in columns:
        raise SqlRefused("it gives no trace_id; SELECT trace_id beside the score")
    if ("score" in columns) == ("passed" in columns):
        raise SqlRefused("it gives one of score and passed, not both and not none")


def judge(
    db: Database, query: Sql, targets: Sequence[Target], limit_s: float
) -> dict[Target, Outcome]:
    """What the query says of each target, in at most `limit_s` and a little.

    A query that fails on some target is asked again about smaller and smaller parts, so that the
    others are judged. A target that is no longer the current revision of its trace is skipped.
    Raises: Unavailable when the database cannot be read now.
    """
    return _judge(db, query, targets, time.monotonic() + limit_s)


def _judge(
    db: Database, query: Sql, targets: Sequence[Target], deadline_s: float
) -> dict[Target, Outcome]:
    left_s = min(QUERY_S, deadline_s - time.monotonic())
    if left_s <= 0:
        late = Failure("timeout", "the query took too long; read less: join targets first")
        return dict.fromkeys(targets, late)
    try:
        return _ask(db, query, targets, left_s)
    except SqlRefused as error:
        if len(targets) == 1:
            return {targets[0]: Failure("SqlFailed", f"the query failed: {error}")}
    half = len(targets) // 2
    return _judge(db, query, targets[:half], deadline_s) | _judge(
        db, query, targets[half:], deadline_s
    )


def _ask(
    db: Database, query: Sql, targets: Sequence[Target], limit_s: float
) -> dict[Target, Outcome]:
    table = arrow_table({"trace_id": TEXT, "revision": INTEGER}, targets)
    with (
        db.read() as cursor,
        registered(cursor, judged_targets=table),
        watched(cursor, limit_s) as watch,
    ):
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            current = set(cursor.execute(f"SELECT trace_id, revision {_CURRENT}").fetchall())
            rows = _rows(cursor, query, len(targets))
            cursor.execute("COMMIT")
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if watch.fault:
                raise SqlRefused(watch.fault) from error
            if isinstance(error, duckdb.FatalException | duckdb.IOException):
                raise
            if isinstance(error, duckdb.InterruptException | duckdb.ConnectionException):
                raise Unavailable(f"the database is being opened anew: {error}") from error
            raise refusal(error, query.sql) from error
    return {
        target: query.outcome_of(rows.get(target[0], []))
        if target in current
        else Skip("a newer revision of the run arrived before it was judged")
        for target in targets
    }


def _rows(
    cursor: duckdb.DuckDBPyConnection, query: Sql, targets: int
) -> Mapping[str, list[dict[str, Any]]]:
    """The query's rows by trace id.

    Raises: SqlRefused where there are more, or larger ones, than could be a judgement.
    """
    asked = _asked(query, f"SELECT trace_id, revision {_CURRENT}")
    cursor.execute(f"{asked} WHERE trace_id IN (SELECT t.trace_id FROM targets AS t)")
    names = [str(column[0]).lower() for column in cursor.description or ()]
    table, truncated = fetch(cursor, ROWS_PER_TARGET * targets, MAX_BYTES)
    if truncated:
        raise SqlRefused("it gave too many or too large rows; GROUP BY trace_id, cut long texts")
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
        row = dict(zip(names, values, strict=True))
        found[row["trace_id"]].append({name: row[name] for name in FIELDS if name in row})
    return found


def _asked(query: Sql, targets: str) -> str:
    """The statement that gives the query's rows, about runs that are no targets too."""
    return f"WITH targets AS ({targets}) SELECT * FROM (\n{query.sql}\n) AS answer"
