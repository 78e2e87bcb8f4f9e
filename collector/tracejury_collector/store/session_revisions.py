"""Revisions of sessions: which may be due, what they hold, and writing those that are finished."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import orjson
import pyarrow as pa

from tracejury_collector.completion import Reception
from tracejury_collector.session_completion import SessionActivity, SessionPolicy
from tracejury_collector.session_ids import session_target
from tracejury_collector.store.columns import BIGINT, INTEGER, TEXT, arrow_table
from tracejury_collector.store.registered import registered
from tracejury_collector.store.session_rows import REVISION_COLUMNS
from tracejury_collector.store.statements import fetch_rows, statement

MAX_MEMBERS = 1_000
MAX_SPANS = 10_000
"""Latest traces of a session, and spans in them, that are judged together."""

SessionKey = tuple[str, str]
"""Project and session id."""

_CLOSING = {"project": TEXT, "session_id": TEXT, "last_seen_ns": BIGINT}
_POSTPONED = {"project": TEXT, "session_id": TEXT, "due_ns": BIGINT}
_FINISHED = {
    "trace_id": TEXT,
    "revision": INTEGER,
    "project": TEXT,
    "session_id": TEXT,
    "seen_ns": BIGINT,
}
_SUPERSEDE = (
    "supersede_session_revisions",
    "supersede_session_results",
    "drop_superseded_session_jobs",
)
_INSERT = ("decisions", "jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session with news that no revision holds; the one before was finished at `former_ns`."""

    project: str
    session_id: str
    activity: SessionActivity
    former_ns: int = 0

    @property
    def key(self) -> SessionKey:
        """What names it."""
        return self.project, self.session_id

    @property
    def target_id(self) -> str:
        """What names it as a target."""
        return session_target(self.project, self.session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A revision of a trace in a session; its arrivals lie between the sequence numbers."""

    trace_id: str
    revision: int
    first_seq: int
    last_seq: int


@dataclass(slots=True)
class Members:
    """The traces of a session that are judged together, of `total`, and their kinds."""

    total: int = 0
    found: list[Member] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRevision:
    """A finished session: the news up to `opened` are in its `members`."""

    opened: OpenSession
    revision: int
    members: Members
    completed_at_ns: int

    @property
    def first_seq(self) -> int:
        """Where the arrivals of its members begin."""
        return min(member.first_seq for member in self.members.found)

    @property
    def last_seq(self) -> int:
        """Where the arrivals of its members end."""
        return max(member.last_seq for member in self.members.found)


def due_sessions(
    cursor: duckdb.DuckDBPyConnection,
    policy: SessionPolicy,
    reception: Reception,
    busy: Iterable[SessionKey],
    now_ns: int,
    limit: int,
) -> list[OpenSession]:
    """Return sessions that may be finished, longest quiet first; none that is `busy`."""
    quiet_ns = now_ns - reception.lag_ns - policy.idle_ns
    if quiet_ns < reception.listening_since_ns:
        return []
    bounds = {"quiet_ns": quiet_ns, "now_ns": now_ns, "busy": _json(busy), "batch": limit}
    rows = cursor.execute(statement("due_sessions"), bounds).fetchall()
    former = _last_revisions(cursor, [session_target(row[0], row[1]) for row in rows])
    return [_open_session(row, former) for row in rows]


def _open_session(
    row: tuple[str, str, int, int], former: Mapping[str, tuple[int, int]]
) -> OpenSession:
    project, session_id, first_seen_ns, last_seen_ns = row
    revision, former_ns = former.get(session_target(project, session_id), (0, 0))
    activity = SessionActivity(
        first_seen_ns=first_seen_ns, last_seen_ns=last_seen_ns, revision=revision
    )
    return OpenSession(
        project=project, session_id=session_id, activity=activity, former_ns=former_ns
    )


def _last_revisions(
    cursor: duckdb.DuckDBPyConnection, target_ids: Sequence[str]
) -> dict[str, tuple[int, int]]:
    """Return (number, when it was finished) of the last revision of those that have any."""
    if not target_ids:
        return {}
    wanted = {"target_ids": _json(target_ids)}
    rows = cursor.execute(statement("last_session_revisions"), wanted).fetchall()
    return {target_id: (revision, finished_ns) for target_id, revision, finished_ns in rows}


def members_of(
    cursor: duckdb.DuckDBPyConnection, keys: Sequence[SessionKey]
) -> dict[SessionKey, Members]:
    """Return the latest traces of each session, latest start first, as many as are judged."""
    found: dict[SessionKey, Members] = defaultdict(Members)
    bounds = {
        "session_ids": _json({session_id for _, session_id in keys}),
        "max_traces": MAX_MEMBERS,
        "max_spans": MAX_SPANS,
    }
    for row in cursor.execute(statement("session_members"), bounds).fetchall():
        project, session_id, trace_id, revision, first_seq, last_seq, kind, total = row
        members = found[project, session_id]
        members.total = total
        members.kinds.append(kind)
        members.found.append(
            Member(trace_id=trace_id, revision=revision, first_seq=first_seq, last_seq=last_seq)
        )
    return {key: found[key] for key in keys if key in found}


def facts_of(cursor: duckdb.DuckDBPyConnection, keys: Sequence[SessionKey]) -> pa.Table:
    """Return the rows of the view `sessions` about these, each with its `target_id`."""
    wanted = {"session_ids": _json({session_id for _, session_id in keys})}
    found = cursor.execute(statement("session_facts"), wanted).to_arrow_table()
    return with_target_ids(found, keys)


def with_target_ids(sessions: pa.Table, keys: Sequence[SessionKey]) -> pa.Table:
    """Return the rows of the view `sessions` about these, each with its `target_id`."""
    columns = (sessions.column(name).to_pylist() for name in ("project", "session_id"))
    pairs = [(str(project), str(session_id)) for project, session_id in zip(*columns, strict=True)]
    ids = pa.array([session_target(*pair) for pair in pairs], pa.string())
    known = set(keys)
    return sessions.append_column("target_id", ids).filter(
        pa.array([p in known for p in pairs], pa.bool_())
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsWrite:
    """The write of finished sessions.

    `emptied` lost all their traces to other sessions: what was found on them is superseded.
    `postponed` are looked at again at a later time each, in nanoseconds.
    """

    finished: Sequence[SessionRevision]
    emptied: Sequence[OpenSession]
    postponed: Mapping[SessionKey, int]
    tables: Mapping[str, pa.Table]

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        closing = [*(revision.opened for revision in self.finished), *self.emptied]
        again = [o.target_id for o in closing if o.activity.revision]
        _supersede(connection, again)
        rows = arrow_table(REVISION_COLUMNS, [_row(revision) for revision in self.finished])
        for name, table in {"session_revisions": rows, **self.tables}.items():
            if table.num_rows:
                with registered(connection, **{f"new_{name}": table}):
                    connection.execute(statement(f"insert_{name}"))
        closed = arrow_table(_CLOSING, [(*o.key, o.activity.last_seen_ns) for o in closing])
        later = arrow_table(_POSTPONED, [(*key, due) for key, due in self.postponed.items()])
        with registered(connection, closing_sessions=closed, postponed_sessions=later):
            connection.execute(statement("close_sessions"))
            connection.execute(statement("postpone_sessions"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSessionsWrite:
    """Supersedes what was found on sessions that have changed since, where no rule judges any.

    `traces` are finished ones: (trace id, revision, project, session id, last arrival).
    """

    traces: pa.Table

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        with registered(connection, new_sessions=self.traces):
            rows = connection.execute(statement("changed_sessions")).fetchall()
        _supersede(connection, [row[0] for row in rows])


def finished_in_sessions(rows: Sequence[tuple[str, int, str, str, int]]) -> pa.Table:
    """Return finished traces: (trace id, revision, project, session id, last arrival)."""
    return arrow_table(_FINISHED, rows)


def has_judged_sessions_with_news(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the last revision of a session is current that has news by now."""
    return cursor.execute(statement("has_judged_sessions_with_news")).fetchone() is not None


def has_session_revisions(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Return whether there are sessions with results that may be current."""
    return cursor.execute(statement("has_session_revisions")).fetchone() is not None


def _supersede(connection: duckdb.DuckDBPyConnection, target_ids: Sequence[str]) -> None:
    """Mark the revisions of these sessions and what was found on them; drop what waits."""
    if not target_ids:
        return
    ids = arrow_table({"target_id": TEXT}, [(target_id,) for target_id in target_ids])
    with registered(connection, superseding_sessions=ids):
        for name in _SUPERSEDE:
            connection.execute(statement(name))


def members_of_revisions(
    cursor: duckdb.DuckDBPyConnection, revisions: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], tuple[str, Members]]:
    """Return (session id, members) of these revisions, given and found by target id and number."""
    wanted = {"revisions": _json(revisions)}
    rows = fetch_rows(cursor.execute(statement("session_revision_members"), wanted))
    return {
        (row["target_id"], row["revision"]): (
            row["session_id"],
            Members(total=row["traces"], found=[Member(**member) for member in row["members"]]),
        )
        for row in rows
    }


def _row(revision: SessionRevision) -> tuple[object, ...]:
    opened, members = revision.opened, revision.members
    return (
        opened.target_id,
        revision.revision,
        *opened.key,
        members.total,
        [
            {
                "trace_id": member.trace_id,
                "revision": member.revision,
                "first_seq": member.first_seq,
                "last_seq": member.last_seq,
            }
            for member in members.found
        ],
        revision.first_seq,
        revision.last_seq,
        revision.completed_at_ns,
        False,
    )


def _json(values: Iterable[object]) -> str:
    return orjson.dumps(list(values)).decode()
