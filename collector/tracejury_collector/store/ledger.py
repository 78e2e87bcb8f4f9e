"""The ledger of judging: decisions, the jobs that follow from them, and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tracejury_collector.rules import Decision
from tracejury_collector.store.columns import (
    BIGINT,
    DOUBLE,
    INTEGER,
    TEXT,
    TEXTS,
    TIME,
    Row,
    arrow_table,
    text_or_null,
)
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

_DECISIONS = {
    "decision_id": TEXT,
    "rule": TEXT,
    "rule_fingerprint": TEXT,
    "run_id": TEXT,
    "target_kind": TEXT,
    "target_id": TEXT,
    "revision": INTEGER,
    "outcome": TEXT,
    "reason": TEXT,
    "stratum": TEXT,
    "probability": DOUBLE,
    "evaluators": TEXTS,
    "decided_at": TIME,
    "project": TEXT,
    "session_id": TEXT,
    "sampled_by": TEXT,
    "upstream_probability": DOUBLE,
    "first_seq": BIGINT,
}
_JOBS = {
    "decision_id": TEXT,
    "decided_at": TIME,
    "rule": TEXT,
    "rule_fingerprint": TEXT,
    "run_id": TEXT,
    "target_kind": TEXT,
    "target_id": TEXT,
    "trace_id": TEXT,
    "revision": INTEGER,
    "first_seq": BIGINT,
    "last_seq": BIGINT,
    "evaluators": TEXTS,
    "fingerprints": TEXTS,
}
_TRACE_ID = list(_JOBS).index("trace_id")
_ATTEMPTS = {
    "decision_id": TEXT,
    "evaluator": TEXT,
    "evaluator_fingerprint": TEXT,
    "n": INTEGER,
    "started_at": TIME,
}


@dataclass(slots=True)
class Ledger:
    """Decisions of one commit; the selected ones become jobs on these revisions' arrivals."""

    _decisions: list[Row] = field(default_factory=list)
    _jobs: list[Row] = field(default_factory=list)

    def add(self, decision: Decision, decided_at_ns: int) -> None:
        """Add a decision; a selected one without evaluators has nothing to wait for."""
        rule, subject = decision.rule, decision.subject
        selected = decision.outcome == "selected"
        names = [e.name for e in rule.evaluators] if selected else []
        target = (subject.target_kind, subject.target_id)
        key = (rule.name, rule.fingerprint, decision.run_id, *target)
        self._decisions.append(
            (
                decision.decision_id,
                *key,
                subject.revision,
                decision.outcome,
                decision.reason,
                text_or_null(decision.stratum),
                decision.probability,
                names,
                decided_at_ns,
                subject.project,
                text_or_null(subject.session_id),
                decision.sampled_by,
                subject.upstream_probability,
                subject.first_seq,
            )
        )
        if names:
            prints = [e.fingerprint for e in rule.evaluators]
            trace_id = subject.target_id if subject.target_kind == "trace" else ""
            where = (trace_id, subject.revision, subject.first_seq, subject.last_seq)
            self._jobs.append((decision.decision_id, decided_at_ns, *key, *where, names, prints))

    @property
    def selected(self) -> set[str]:
        """The ids of traces that at least one rule selected."""
        return {row[_TRACE_ID] for row in self._jobs}

    def tables(self) -> dict[str, pa.Table]:
        """Return the rows of `decisions` and `jobs`."""
        return {
            "decisions": arrow_table(_DECISIONS, self._decisions),
            "jobs": arrow_table(_JOBS, self._jobs),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingJob:
    """A selected decision that still lacks a result."""

    decision_id: str
    decided_at_ns: int
    rule: str
    rule_fingerprint: str
    run_id: str
    target_kind: str
    target_id: str
    trace_id: str
    revision: int
    first_seq: int
    last_seq: int
    evaluators: tuple[str, ...]
    fingerprints: tuple[str, ...]

    @property
    def position(self) -> tuple[int, str]:
        """Where it stands in the order of jobs."""
        return self.decided_at_ns, self.decision_id

    @property
    def trace_key(self) -> tuple[str, int]:
        """The revision of a trace or session that it is about."""
        return self.target_id, self.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The n-th start of an evaluator on a decision's target."""

    decision_id: str
    evaluator: str
    fingerprint: str
    n: int
    started_at_ns: int


def pending_jobs(
    cursor: duckdb.DuckDBPyConnection, after: tuple[int, str], limit: int, *, of_runs: bool
) -> list[PendingJob]:
    """Return jobs after this position, in order: live ones, or those that runs asked for."""
    bounds = {
        "decided_at_ns": after[0],
        "decision_id": after[1],
        "of_runs": of_runs,
        "batch": limit,
    }
    return [
        PendingJob(
            decision_id=row[0],
            decided_at_ns=row[1],
            rule=row[2],
            rule_fingerprint=row[3],
            run_id=row[4],
            target_kind=row[5],
            target_id=row[6],
            trace_id=row[7],
            revision=row[8],
            first_seq=row[9],
            last_seq=row[10],
            evaluators=tuple(row[11]),
            fingerprints=tuple(row[12]),
        )
        for row in cursor.execute(statement("pending_jobs"), bounds).fetchall()
    ]


def done_before(
    cursor: duckdb.DuckDBPyConnection, jobs: Sequence[PendingJob]
) -> tuple[set[tuple[str, str]], dict[tuple[str, str], int]]:
    """Return (pairs (decision, evaluator) with a result, attempts of pairs) of former processes."""
    if not jobs:
        return set(), {}
    table = arrow_table({"decision_id": TEXT}, [(job.decision_id,) for job in jobs])
    since = [min(job.decided_at_ns for job in jobs)]
    with registered(cursor, wanted_jobs=table):
        judged = cursor.execute(statement("judged_evaluators"), since).fetchall()
        attempts = cursor.execute(statement("attempts_made"), since).fetchall()
    return set(judged), {(row[0], row[1]): row[2] for row in attempts}


def last_decided_ns(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return when the youngest job was decided, 0 without jobs."""
    row = cursor.execute(statement("last_decided")).fetchone()
    return int(row[0]) if row else 0


def _attempts_table(attempts: Sequence[Attempt]) -> pa.Table:
    """Return the rows of `attempts`."""
    rows = [(a.decision_id, a.evaluator, a.fingerprint, a.n, a.started_at_ns) for a in attempts]
    return arrow_table(_ATTEMPTS, rows)


class AttemptsWrite:
    """The write of attempts; returns the ids of the decisions that still wait for results."""

    def __init__(self, decision_ids: Sequence[str], attempts: Sequence[Attempt]) -> None:
        self._wanted = arrow_table({"decision_id": TEXT}, [(d,) for d in decision_ids])
        self._attempts = _attempts_table(attempts)

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> set[str]:
        with registered(connection, wanted_jobs=self._wanted):
            live = {row[0] for row in connection.execute(statement("live_jobs")).fetchall()}
        with registered(connection, new_attempts=self._of(live)):
            connection.execute(statement("insert_attempts"))
        return live

    def _of(self, live: set[str]) -> pa.Table:
        """Return the attempts of decisions that still wait."""
        if len(live) == self._wanted.num_rows:
            return self._attempts
        ids = self._attempts.column("decision_id")
        return self._attempts.filter(pc.is_in(ids, pa.array(sorted(live), pa.string())))


class AttemptsVoid:
    """The write that takes back attempts which were cut short through nobody's fault."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self._attempts = _attempts_table(attempts)

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        with registered(connection, void_attempts=self._attempts):
            connection.execute(statement("delete_attempts"))
