"""Requests to delete what is stored of an end user, and what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import duckdb
import orjson
import pyarrow as pa

from tracejury_collector.store import removal
from tracejury_collector.store.columns import TEXT, arrow_table
from tracejury_collector.store.database import Database
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

State = Literal["running", "done"]
Session = tuple[str, str]
"""Project and session id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What there was when it was asked for, and how many traces are deleted by now.

    `unnamed` of the traces name nobody.
    """

    traces: int = 0
    unnamed: int = 0
    sessions: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """A request; None as user: it is done, and whom it was about is forgotten."""

    id: str
    user_id: str | None
    project: str | None
    requested_at_ns: int
    finished_at_ns: int | None = None
    state: State = "running"
    report: Erased = field(default_factory=Erased)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTraces:
    """The traces of an end user; `unnamed` name nobody, in a session where nobody else is."""

    named: Sequence[str]
    unnamed: Sequence[str]

    @property
    def ids(self) -> list[str]:
        """All of them."""
        return [*self.named, *self.unnamed]


def find(
    db: Database, *, erasure_id: str | None = None, state: State | None = None
) -> list[Erasure]:
    """Return the newest requests, newest first."""
    rows = db.rows("list_erasures", {"id": erasure_id, "state": state})
    return [Erasure(**{**row, "report": Erased(**orjson.loads(row["report"]))}) for row in rows]


def insert(db: Database, erasure: Erasure) -> None:
    """Write down a request."""
    row = {
        "id": erasure.id,
        "user_id": erasure.user_id,
        "project": erasure.project,
        "requested_at_ns": erasure.requested_at_ns,
        "report": _json(erasure.report),
    }
    _write(db, "insert_erasure", row)


def note(db: Database, erasure: Erasure, report: Erased) -> None:
    """Write down how far a request has come."""
    _write(db, "update_erasure", {"id": erasure.id, "report": _json(report)})


def end(db: Database, erasure: Erasure, now_ns: int) -> None:
    """Note that a request is done, and forget whom it was about."""
    row = {"id": erasure.id, "now_ns": now_ns, "report": _json(erasure.report)}
    _write(db, "end_erasure", row)


def traces_of_user(db: Database, user_id: str, project: str | None) -> UserTraces:
    """Return the traces of an end user; a trace that names several people is of each."""
    rows = db.rows("traces_of_user", {"user_id": user_id, "project": project})
    return UserTraces(
        named=[row["trace_id"] for row in rows if row["is_named"]],
        unnamed=[row["trace_id"] for row in rows if not row["is_named"]],
    )


def sessions_of(db: Database, trace_ids: Sequence[str]) -> list[Session]:
    """Return the sessions that these traces belong to."""
    with db.read() as cursor, registered(cursor, removing=_ids(trace_ids)):
        return cursor.execute(statement("sessions_of_traces")).fetchall()


def erase_traces(db: Database, trace_ids: Sequence[str]) -> None:
    """Delete everything about the traces, open or judged at this moment or not."""
    _withdraw(db, trace_ids)
    removal.remove_traces(db, trace_ids, "erased")


def erase_sessions(db: Database, sessions: Sequence[Session]) -> None:
    """Delete what was made of the sessions as a whole; what is left of them are other traces."""
    params = {"sessions": orjson.dumps(sessions).decode()}
    targets = [row["target_id"] for row in db.rows("targets_of_sessions", params)]
    _withdraw(db, targets)
    removal.remove_sessions(db, targets)
    _write(db, "erase_session_labels", params)


def close_sessions(db: Database, sessions: Sequence[Session]) -> None:
    """Do not finish those of the sessions that have no trace left."""
    params = {"sessions": orjson.dumps(sessions).decode()}
    _write(db, "close_erased_sessions", params)


def blank_unread(db: Database) -> None:
    """Drop the examples in the report on what no dialect reads: they may be anyone's."""
    _write(db, "blank_unread", {})


def _withdraw(db: Database, ids: Sequence[str]) -> None:
    """See that nobody works on the targets any more: neither worker nor jury."""
    removing = _ids(ids)

    def withdraw(connection: duckdb.DuckDBPyConnection) -> None:
        with registered(connection, removing=removing):
            connection.execute(statement("withdraw_arrivals"))
            connection.execute(statement("withdraw_jobs"))

    db.write(withdraw).result()


def _write(db: Database, name: str, params: Mapping[str, object]) -> None:
    db.write(lambda c: c.execute(statement(name), dict(params) or None).fetchall()).result()


def _json(report: Erased) -> str:
    return orjson.dumps(asdict(report)).decode()


def _ids(ids: Sequence[str]) -> pa.Table:
    return arrow_table({"id": TEXT}, [(one,) for one in ids])
