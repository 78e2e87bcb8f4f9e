"""What the API reads: pages of results, and conditions of callers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from tracejury_collector.errors import SqlRefused, SqlTooLarge, Unavailable
from tracejury_collector.rules import TargetKind
from tracejury_collector.session_ids import session_target
from tracejury_collector.store.database import Database
from tracejury_collector.store.sqlguard import check_expression
from tracejury_collector.store.sqlplace import refused_in_part
from tracejury_collector.store.statements import Row, fetch_rows, narrowed, statement
from tracejury_collector.store.watch import watched

WHERE_LIMIT_S = 10.0
_LOOK_RESULTS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFilter:
    """Which results a page holds; None does not filter. `before_*` name the last one seen.

    `first_seq` is where a trace begins that is asked for: there the results are found sooner.
    """

    superseded: bool = False
    project: str | None = None
    first_seq: int | None = None
    target_kind: TargetKind | None = None
    trace_id: str | None = None
    target_id: str | None = None
    evaluator: str | None = None
    rule: str | None = None
    outcome: str | None = None
    verdict: str | None = None
    since_ns: int | None = None
    before_ns: int | None = None
    before_decision: str | None = None
    before_evaluator: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectCount:
    """How many spans follow a dialect ("": none known), and when the last of them came."""

    dialect: str
    spans: int
    last_seen_ns: int


def count_dialects(db: Database, records: int) -> list[DialectCount]:
    """Return the dialects of the spans among the newest `records` spans and log records."""
    return [DialectCount(**row) for row in db.rows("dialects_seen", {"records": records})]


def checked_where(where: str, view: str) -> str:
    """Return a caller's condition on the rows of `view`, fit to stand in parentheses.

    Raises: SqlRefused saying that it is the parameter `where`.
    """
    try:
        return check_expression(where, view)
    except SqlRefused as error:
        raise SqlRefused(f"where: {error}", place=error.place) from error


def execute_where(
    cursor: duckdb.DuckDBPyConnection, sql: str, params: Row, condition: str
) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that holds a caller's condition.

    Raises: SqlRefused if the condition does not run, or runs too long; its subclass SqlTooLarge if
    it does not fit into memory; Unavailable.
    """
    with _explained(cursor, sql, condition):
        return cursor.execute(sql, params).fetchall()


def execute_where_table(
    cursor: duckdb.DuckDBPyConnection, sql: str, params: Row, condition: str
) -> pa.Table:
    """Return the same as a table.

    Raises: as `execute_where`.
    """
    with _explained(cursor, sql, condition):
        return cursor.execute(sql, params).to_arrow_table()


@contextmanager
def _explained(cursor: duckdb.DuckDBPyConnection, sql: str, condition: str) -> Iterator[None]:
    """Bound what the cursor does, and say what is wrong with the condition, and where."""
    with watched(cursor, WHERE_LIMIT_S) as watch:
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            raise SqlTooLarge(
                "where: it does not fit into memory; choose fewer, or raise database.memory"
            ) from error
        except duckdb.Error as error:
            if isinstance(error, duckdb.FatalException):
                raise
            if watch.fault:
                raise SqlRefused(f"where: {watch.fault}") from error
            if isinstance(error, duckdb.InterruptException | duckdb.ConnectionException):
                raise Unavailable(
                    "the database is being opened anew; send the same request again"
                ) from error
            refused = refused_in_part(str(error).partition("\nStack Trace")[0], sql, condition)
            what, _, remedy = str(refused).partition("; ")
            remedy = remedy or "correct the condition"
            raise SqlRefused(f"where: {what}; {remedy}", place=refused.place) from error


def list_results(db: Database, wanted: ResultFilter) -> list[Row]:
    """Return results, newest first."""
    sql, params = narrowed("list_results", asdict(wanted))
    with db.read_as_one() as cursor:
        if wanted.project is not None:
            params["places"] = _places_in_project(cursor, wanted)
            sql = sql.replace("(true)", statement("results_at"))
        return fetch_rows(cursor.execute(sql, params))


def _places_in_project(cursor: duckdb.DuckDBPyConnection, wanted: ResultFilter) -> str:
    """Return where the results of a page lie: among the newest, else among all of them."""
    params = {**asdict(wanted), "session_prefix": session_target(wanted.project or "", "")}
    newest = {"before_ns": wanted.before_ns, "results": _LOOK_RESULTS}
    (floor_ns,) = cursor.execute(statement("results_reach_back"), newest).fetchall()[0]
    for since_ns in (max(wanted.since_ns or 0, floor_ns or 0), wanted.since_ns):
        asked = {**params, "since_ns": since_ns}
        cursor.execute(*narrowed("page_results_of_project", asked))
        places = [place for (place,) in cursor.fetchall()]
        if len(places) == wanted.limit:
            break
    return orjson.dumps(places).decode()


def count_open_traces(db: Database) -> int:
    """Return how many traces are not finished."""
    return int(db.rows("count_open_traces")[0]["open_traces"])
