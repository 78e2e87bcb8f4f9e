"""Runs: what was asked of history, how far each is, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import duckdb
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import Ledger
from tracejury_collector.store.registered import registered
from tracejury_collector.store.session_targets import SessionTargets
from tracejury_collector.store.statements import statement
from tracejury_collector.store.targets import Targets

RunState = Literal["running", "done", "canceled", "failed"]
Stepped = Literal["written", "stale", "ended"]
Counts = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run as it stands in the database; `plan` is JSON, targets from `before_seq` on are done."""

    run_id: str
    created_at_ns: int
    finished_at_ns: int | None
    state: RunState
    rule: str
    plan: str
    before_seq: int
    targets: int
    counts: Counts
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run that is about to begin."""

    run_id: str
    created_at_ns: int
    rule: str
    plan: str
    before_seq: int
    targets: int
    counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs a page holds; None does not filter. `before_*` name the last one seen."""

    state: RunState | None = None
    rule: str | None = None
    before_ns: int | None = None
    before_run: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTally:
    """What an evaluator found in a run so far; null cost is unknown."""

    evaluator: str
    scores: int
    skips: int
    failures: int
    passed: int
    not_passed: int
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentCost:
    """What a judgement took on average; None is unknown, `unpriced` tokens have no known price."""

    fingerprint: str
    samples: int
    usd: float | None
    input_tokens: float | None
    output_tokens: float | None
    unpriced: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What an evaluator and the candidate for its place last said of one revision.

    An outcome is None where one said nothing; a verdict "" and a score -1 where there is none.
    """

    target_id: str
    revision: int
    outcome: str | None
    verdict: str | None
    score: float | None
    reason: str | None
    new_outcome: str | None
    new_verdict: str | None
    new_score: float | None
    new_reason: str | None


def add_run(db: Database, new: NewRun, most: int) -> bool:
    """Store a run that begins now; False where `most` are running already."""
    values = {**asdict(new), "counts": _json(new.counts), "most": most}

    def write(connection: duckdb.DuckDBPyConnection) -> bool:
        return bool(connection.execute(statement("insert_run"), values).fetchall())

    return db.write(write).result()


def find_run(db: Database, run_id: str) -> StoredRun | None:
    """Return the run, None for an unknown id."""
    rows = db.rows("show_run", {"run_id": run_id})
    return _stored(rows[0]) if rows else None


def list_runs(db: Database, wanted: RunFilter) -> list[StoredRun]:
    """Return runs, newest first."""
    return [_stored(row) for row in db.rows("page_runs", asdict(wanted))]


def running_runs(db: Database) -> list[StoredRun]:
    """Return the runs that are not at their end, oldest first."""
    return [_stored(row) for row in db.rows("running_runs")]


def jobs_of_runs(db: Database) -> dict[str, int]:
    """Return how many jobs wait or are in work by run."""
    return {row["run_id"]: row["jobs"] for row in db.rows("jobs_of_runs")}


def results_of_run(db: Database, run: StoredRun) -> list[RunTally]:
    """Return what came of a run so far, by evaluator."""
    wanted = {"run_id": run.run_id, "created_at_ns": run.created_at_ns}
    return [RunTally(**row) for row in db.rows("results_of_run", wanted)]


def recent_cost(db: Database, fingerprint: str, most: int) -> RecentCost | None:
    """Return what the newest judgements of this version took on average, None before the first."""
    rows = db.rows("recent_costs", {"fingerprint": fingerprint, "most": most})
    return RecentCost(**rows[0]) if rows else None


def former_fingerprint(db: Database, evaluator: str, type_: str, fingerprint: str) -> str | None:
    """Return the other version of an evaluator that judged last, None without any."""
    wanted = {"evaluator": evaluator, "type": type_, "fingerprint": fingerprint}
    rows = db.rows("former_fingerprint", wanted)
    return str(rows[0]["fingerprint"]) if rows else None


def compared_results(
    db: Database, run: StoredRun, evaluator: str, candidate: str
) -> list[Compared]:
    """Return what two evaluators, by identity, said of the targets that a run selected."""
    params = {
        "run_id": run.run_id,
        "created_at_ns": run.created_at_ns,
        "evaluator": evaluator,
        "candidate": candidate,
    }
    return [Compared(**row) for row in db.rows("compared_results", params)]


def end_run(db: Database, run_id: str, state: RunState, now_ns: int, error: str = "") -> bool:
    """End a run and drop the jobs that it has left; False where it had ended already."""
    values = {"run_id": run_id, "state": state, "finished_at_ns": now_ns, "error": error}

    def write(connection: duckdb.DuckDBPyConnection) -> bool:
        ended = bool(connection.execute(statement("end_run"), values).fetchall())
        if ended:
            connection.execute(statement("drop_run_jobs"), {"run_id": run_id})
        return ended

    return db.write(write).result()


class StepWrite:
    """The write of one step: decisions, jobs and how far the run is, all or nothing."""

    def __init__(
        self,
        run: StoredRun,
        page: Targets | SessionTargets,
        ledger: Ledger,
        before_seq: int,
        counts: Counts,
        now_ns: int,
    ) -> None:
        self._page = page
        self._now_ns = now_ns
        self._tables = ledger.tables()
        self._values = {
            "run_id": run.run_id,
            "from_seq": run.before_seq,
            "before_seq": before_seq,
            "counts": _json(counts),
        }
        self._made = {"run_id": run.run_id, "created_at_ns": run.created_at_ns}

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> Stepped:
        """Return "stale", with nothing written, where a target has a newer revision by now.

        "ended" is a run that was ended meanwhile, or that is not where it stood.
        """
        if not self._page.are_current(connection):
            return "stale"
        if not connection.execute(statement("advance_run"), self._values).fetchall():
            return "ended"
        self._page.write(connection, self._now_ns)
        known = self._known(connection)
        for name, rows in self._tables.items():
            self._insert(connection, f"insert_{name}", _without(rows, known))
        return "written"

    def _known(self, connection: duckdb.DuckDBPyConnection) -> list[str]:
        """Return decisions of this page that are made: a session that begins earlier by now."""
        decisions = self._tables["decisions"]
        if not (isinstance(self._page, SessionTargets) and decisions.num_rows):
            return []
        with registered(connection, new_decisions=decisions):
            rows = connection.execute(statement("decided_in_run"), self._made).fetchall()
        return [row[0] for row in rows]

    def _insert(self, connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
        if rows.num_rows:
            with registered(connection, **{name.replace("insert", "new"): rows}):
                connection.execute(statement(name))


def _without(rows: pa.Table, known: list[str]) -> pa.Table:
    if not known:
        return rows
    ids = pa.array(known, pa.string())
    return rows.filter(pc.invert(pc.is_in(rows.column("decision_id"), ids)))


def _stored(row: Mapping[str, Any]) -> StoredRun:
    return StoredRun(**{**row, "counts": orjson.loads(row["counts"])})


def _json(counts: Counts) -> str:
    return orjson.dumps(counts).decode()
