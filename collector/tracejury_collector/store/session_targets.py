"""Sessions as targets of a run: what their finished traces make of them now, newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import orjson
import pyarrow as pa

from tracejury.session import session_kind
from tracejury_collector.rules import Subject
from tracejury_collector.session_completion import SessionActivity
from tracejury_collector.session_ids import session_target
from tracejury_collector.store.columns import INTEGER, TEXT, arrow_table
from tracejury_collector.store.reads import checked_where, execute_where_table
from tracejury_collector.store.registered import registered
from tracejury_collector.store.session_revisions import (
    Member,
    Members,
    OpenSession,
    SessionKey,
    SessionRevision,
    SessionsWrite,
    members_of,
    with_target_ids,
)
from tracejury_collector.store.statements import statement
from tracejury_collector.store.targets import TargetFilter, widening

MOST_SESSIONS = 500
"""Sessions that are looked at together, whatever page is asked for."""

_WANTED = {"target_kind": TEXT, "target_id": TEXT, "revision": INTEGER}
_MEMBERS = {"trace_id": TEXT, "revision": INTEGER, "project": TEXT, "session_id": TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Last:
    """The last revision of a session; `is_current` is false where its results are superseded."""

    revision: int
    completed_at_ns: int
    is_current: bool
    members: Members


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTarget:
    """A session as a run judges it: its `last` revision, or the one after it, which is made."""

    key: SessionKey
    last: int
    revision: int
    former_ns: int
    members: Members

    @property
    def target_id(self) -> str:
        """What names it as a target."""
        return session_target(*self.key)

    @property
    def is_new(self) -> bool:
        """Whether no revision holds what its traces are now."""
        return self.revision > self.last

    @property
    def subject(self) -> Subject:
        """What rules decide on."""
        revision = self.finished_at(0)
        return Subject(
            target_kind="session",
            target_id=self.target_id,
            revision=self.revision,
            kind=session_kind(self.members.kinds),
            project=self.key[0],
            session_id=self.key[1],
            first_seq=revision.first_seq,
            last_seq=revision.last_seq,
            former_ns=self.former_ns,
        )

    def finished_at(self, now_ns: int) -> SessionRevision:
        """Return the revision; no news is closed by it, which a rule in force may wait for."""
        project, session_id = self.key
        activity = SessionActivity(first_seen_ns=0, last_seen_ns=0, revision=self.last)
        opened = OpenSession(
            project=project, session_id=session_id, activity=activity, former_ns=self.former_ns
        )
        return SessionRevision(
            opened=opened, revision=self.revision, members=self.members, completed_at_ns=now_ns
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTargets:
    """Sessions, newest first: `facts` are their rows of the view `sessions`, None without any.

    `examined` counts the sessions that were looked at for them; the first trace of each of these
    begins at `low_seq` or later. Nothing is left where `examined` is 0.
    """

    facts: pa.Table | None
    examined: int
    low_seq: int
    found: Sequence[SessionTarget]

    @property
    def subjects(self) -> list[Subject]:
        """What rules decide on."""
        return [target.subject for target in self.found]

    def wanted(self) -> pa.Table:
        """Return the keys of the targets."""
        return arrow_table(_WANTED, [("session", t.target_id, t.revision) for t in self.found])

    def are_current(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Return whether none of them was revised by now, and no new one lost what it holds."""
        last = _last_revisions(connection, [target.key for target in self.found])
        if any(_is_revised(target, last.get(target.target_id)) for target in self.found):
            return False
        rows = [
            (member.trace_id, member.revision, *target.key)
            for target in self.found
            if target.is_new
            for member in target.members.found
        ]
        with registered(connection, wanted_members=arrow_table(_MEMBERS, rows)):
            row = connection.execute(statement("current_members")).fetchone()
        return row is not None and row[0] == len(rows)

    def write(self, connection: duckdb.DuckDBPyConnection, now_ns: int) -> None:
        """Make the revisions that are new; what was found on those before is superseded."""
        finished = [target.finished_at(now_ns) for target in self.found if target.is_new]
        SessionsWrite(finished=finished, emptied=(), postponed={}, tables={})(connection)


def count_session_targets(
    cursor: duckdb.DuckDBPyConnection, wanted: TargetFilter
) -> tuple[int, int]:
    """Return (how many sessions a run looks at, where the newest of them begins, else -1)."""
    row = cursor.execute(statement("count_sessions"), _times(wanted)).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def next_session_targets(
    cursor: duckdb.DuckDBPyConnection,
    wanted: TargetFilter,
    before_seq: int,
    limit: int,
    *,
    is_live: bool,
) -> SessionTargets:
    """Return the next targets among the newest sessions that begin before `before_seq`.

    Where a rule judges sessions as they fall idle (`is_live`), one that goes on is left to it: it
    is a target as it last was, or not yet any.

    Raises: SqlRefused where the condition is not allowed, does not run, or runs too long.
    """
    rows = _begun_before(cursor, wanted, before_seq, min(limit, MOST_SESSIONS))
    if not rows:
        return SessionTargets(facts=None, examined=0, low_seq=0, found=())
    keys = [(project, session_id) for project, session_id, _ in rows]
    facts = _facts(cursor, keys, wanted.where)
    named = set(facts.column("target_id").to_pylist())
    found = _targets(cursor, [k for k in keys if session_target(*k) in named], is_live=is_live)
    return SessionTargets(
        facts=facts if found else None, examined=len(rows), low_seq=rows[-1][2], found=found
    )


def _begun_before(
    cursor: duckdb.DuckDBPyConnection, wanted: TargetFilter, before_seq: int, limit: int
) -> list[tuple[str, str, int]]:
    """Return (project, session id, where its first trace begins), newest first."""

    def read(low_seq: int) -> list[tuple[str, str, int]]:
        window = {"low_seq": low_seq, "before_seq": before_seq, "limit": limit}
        return cursor.execute(statement("next_sessions"), {**_times(wanted), **window}).fetchall()

    return widening(read, before_seq, limit)


def _facts(cursor: duckdb.DuckDBPyConnection, keys: Sequence[SessionKey], where: str) -> pa.Table:
    condition = checked_where(where, "sessions")
    sql = statement("session_targets").replace("(true)", f"({condition})")
    ids = {"session_ids": _json(sorted({session_id for _, session_id in keys}))}
    return with_target_ids(execute_where_table(cursor, sql, ids, condition), keys)


def _targets(
    cursor: duckdb.DuckDBPyConnection, keys: Sequence[SessionKey], *, is_live: bool
) -> list[SessionTarget]:
    if not keys:
        return []
    members, last = members_of(cursor, keys), _last_revisions(cursor, keys)
    going_on = _with_news(cursor, keys) if is_live else set()
    targets = (
        _target(key, members[key], last.get(session_target(*key)), goes_on=key in going_on)
        for key in keys
        if key in members
    )
    return [target for target in targets if target is not None]


def _target(
    key: SessionKey, members: Members, last: _Last | None, *, goes_on: bool
) -> SessionTarget | None:
    if last and last.is_current and (goes_on or _keys(members) == _keys(last.members)):
        held = Members(total=last.members.total, found=last.members.found, kinds=members.kinds)
        number = last.revision
        return SessionTarget(key=key, last=number, revision=number, former_ns=0, members=held)
    if goes_on:
        return None
    number, former_ns = (last.revision, last.completed_at_ns) if last else (0, 0)
    return SessionTarget(
        key=key, last=number, revision=number + 1, former_ns=former_ns, members=members
    )


def _keys(members: Members) -> set[tuple[str, int]]:
    return {(member.trace_id, member.revision) for member in members.found}


def _is_revised(target: SessionTarget, last: _Last | None) -> bool:
    if last is None:
        return target.last != 0
    return last.revision != target.last or not (last.is_current or target.is_new)


def _last_revisions(
    cursor: duckdb.DuckDBPyConnection, keys: Sequence[SessionKey]
) -> Mapping[str, _Last]:
    if not keys:
        return {}
    wanted = {"target_ids": _json([session_target(*key) for key in keys])}
    rows = cursor.execute(statement("current_session_revisions"), wanted).fetchall()
    return {
        target_id: _Last(
            revision=revision,
            completed_at_ns=completed_at_ns,
            is_current=is_current,
            members=Members(total=traces, found=[Member(**member) for member in members]),
        )
        for target_id, revision, completed_at_ns, is_current, traces, members in rows
    }


def _with_news(cursor: duckdb.DuckDBPyConnection, keys: Sequence[SessionKey]) -> set[SessionKey]:
    ids = {"session_ids": _json(sorted({session_id for _, session_id in keys}))}
    rows = cursor.execute(statement("sessions_with_news"), ids).fetchall()
    return {(project, session_id) for project, session_id in rows}


def _times(wanted: TargetFilter) -> dict[str, object]:
    return {"since_ns": wanted.since_ns, "until_ns": wanted.until_ns}


def _json(values: Sequence[str]) -> str:
    return orjson.dumps(values).decode()
