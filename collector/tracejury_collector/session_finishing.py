"""Sessions that fell idle become revisions, revisions decisions: like traces, beside them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from tracejury.session import session_kind
from tracejury_collector.completion import Completion, Reception
from tracejury_collector.config import Config
from tracejury_collector.deciding import Decider
from tracejury_collector.in_force import InForce
from tracejury_collector.rules import Decision, Subject
from tracejury_collector.session_completion import SessionPolicy, decide_session
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import Ledger
from tracejury_collector.store.session_revisions import (
    ChangedSessionsWrite,
    OpenSession,
    SessionKey,
    SessionRevision,
    SessionsWrite,
    due_sessions,
    facts_of,
    finished_in_sessions,
    has_judged_sessions_with_news,
    has_session_revisions,
    members_of,
)
from tracejury_collector.store.turns import Turns

log = logging.getLogger(__name__)

BATCH_SESSIONS = 200
_LOOKS_PER_IDLE = 60
"""How often, in the time that a session must be quiet, due ones are looked for."""
_NEVER_NS = -(1 << 62)


def session_policy(config: Config) -> SessionPolicy:
    """Return how long sessions wait."""
    settings = config.completion
    return SessionPolicy(
        idle_ns=int(settings.session_idle * 1e9), max_hold_ns=int(settings.max_age * 1e9)
    )


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Due sessions: finished, without traces by now, or held until a later time."""

    finished: list[SessionRevision] = field(default_factory=list)
    emptied: list[OpenSession] = field(default_factory=list)
    postponed: dict[SessionKey, int] = field(default_factory=dict)
    facts: pa.Table | None = None


class Sessions:
    """Finishes sessions as long as a rule judges any; without one it finishes nothing."""

    def __init__(self, db: Database, config: Config, turns: Turns, decider: Decider) -> None:
        self.policy = session_policy(config)
        self.finished = 0
        self._db = db
        self._turns = turns
        self._decider = decider
        self._max_revisions = config.completion.max_revisions
        self._look_ns = self.policy.idle_ns // _LOOKS_PER_IDLE
        self._looked_ns = _NEVER_NS
        self._batch = BATCH_SESSIONS
        self._taken: list[OpenSession] = []
        self._given_up: set[str] = set()

    def tick(
        self, in_force: InForce, now_ns: int, reception: Reception, busy: Iterable[SessionKey]
    ) -> bool:
        """Finish the sessions that are due, at most one batch; return whether there are new jobs.

        `busy` are the sessions of finished traces that were opened again.
        Raises: Unavailable or duckdb.Error when the database cannot be used now.
        """
        self._taken = []
        if 0 <= now_ns - self._looked_ns < self._look_ns:
            return False
        self._looked_ns = now_ns
        if not in_force.rules_on("session"):
            self._supersede_changed()
            return False
        # All in one turn: runs make revisions of sessions too, and no number may be taken twice.
        with self._turns.take(now_ns) as decided_ns:
            with self._db.read() as cursor:
                due = self._due(cursor, now_ns, reception, busy)
                if not due:
                    return False
                batch = self._gather(cursor, due, now_ns, reception)
            has_jobs = self._write(in_force, batch, decided_ns)
        self.finished += len(batch.finished)
        if len(due) >= self._batch:
            self._looked_ns = _NEVER_NS
        self._batch = min(BATCH_SESSIONS, self._batch * 2)
        self._taken = []
        return has_jobs

    def have_revisions(self) -> bool:
        """Return whether sessions were judged whose results may be current."""
        with self._db.read() as cursor:
            return has_session_revisions(cursor)

    def _supersede_changed(self) -> None:
        """Once the last rule on sessions has gone: no result stays current on what has changed."""
        with self._db.read() as cursor:
            has_news = has_judged_sessions_with_news(cursor)
        if has_news:
            self._db.write(ChangedSessionsWrite(traces=finished_in_sessions(()))).result()

    @property
    def is_alone(self) -> bool:
        """Whether one session was at work when something failed."""
        return len(self._taken) == 1

    def forget_taken(self) -> None:
        """What fails from now on is no session's fault."""
        self._taken = []

    def isolate(self, reason: str) -> bool:
        """After a failure that is no fault of the database: find the session, and leave it be.

        Returns: whether the failure was here.
        """
        taken, self._taken = self._taken, []
        self._looked_ns = _NEVER_NS
        if len(taken) == 1:
            self._given_up.add(taken[0].target_id)
            log.error(
                "session %s cannot be finished before the next start: %s",
                taken[0].target_id,
                reason,
            )
        self._batch = 1 if taken else self._batch
        return bool(taken)

    def _due(
        self,
        cursor: duckdb.DuckDBPyConnection,
        now_ns: int,
        reception: Reception,
        busy: Iterable[SessionKey],
    ) -> list[OpenSession]:
        limit = self._batch + len(self._given_up)
        found = due_sessions(cursor, self.policy, reception, busy, now_ns, limit)
        wanted = [opened for opened in found if opened.target_id not in self._given_up]
        self._taken = wanted[: self._batch]
        return self._taken

    def _gather(
        self,
        cursor: duckdb.DuckDBPyConnection,
        due: list[OpenSession],
        now_ns: int,
        reception: Reception,
    ) -> _Batch:
        batch = _Batch()
        states = {o.key: decide_session(o.activity, self.policy, now_ns, reception) for o in due}
        ready = [o for o in due if isinstance(states[o.key], Completion)]
        for key, state in states.items():
            if not isinstance(state, Completion):
                batch.postponed[key] = state.due_ns
        if not ready:
            return batch
        members = members_of(cursor, [opened.key for opened in ready])
        for opened in ready:
            if opened.key not in members:
                batch.emptied.append(opened)
                continue
            batch.finished.append(
                SessionRevision(
                    opened=opened,
                    revision=opened.activity.revision + 1,
                    members=members[opened.key],
                    completed_at_ns=now_ns,
                )
            )
        batch.facts = facts_of(cursor, list(members))
        return batch

    def _write(self, in_force: InForce, batch: _Batch, decided_ns: int) -> bool:
        """Write the batch in one transaction; return whether there are jobs in it."""
        decisions: list[Decision] = []
        if batch.facts is not None and batch.finished:
            subjects = [self._subject(revision) for revision in batch.finished]
            decisions = self._decider.decide(in_force, subjects, batch.facts, decided_ns)
        ledger = Ledger()
        for decision in decisions:
            ledger.add(decision, decided_ns)
        write = SessionsWrite(
            finished=batch.finished,
            emptied=batch.emptied,
            postponed=batch.postponed,
            tables=ledger.tables(),
        )
        self._db.write(write).result()
        self._decider.note(decisions, decided_ns)
        return bool(ledger.selected)

    def _subject(self, revision: SessionRevision) -> Subject:
        opened = revision.opened
        return Subject(
            target_kind="session",
            target_id=opened.target_id,
            revision=revision.revision,
            kind=session_kind(revision.members.kinds),
            project=opened.project,
            session_id=opened.session_id,
            first_seq=revision.first_seq,
            last_seq=revision.last_seq,
            former_ns=opened.former_ns,
            max_revisions=self._max_revisions,
        )
