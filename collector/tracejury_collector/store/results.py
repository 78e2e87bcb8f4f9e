"""What evaluators found, on its way into the table of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tracejury.result import Failure, Outcome, Score, Skip, Spent
from tracejury_collector.store.columns import (
    BIGINT,
    DOUBLE,
    INTEGER,
    JSON,
    TEXT,
    TEXTS,
    TIME,
    Row,
    arrow_table,
    json_text,
)
from tracejury_collector.store.ledger import PendingJob
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

_RESULTS = {
    "decision_id": TEXT,
    "evaluator": TEXT,
    "type": TEXT,
    "fingerprint": TEXT,
    "criteria_hash": TEXT,
    "case_id": TEXT,
    "target_kind": TEXT,
    "target_id": TEXT,
    "trace_id": TEXT,
    "revision": INTEGER,
    "rule": TEXT,
    "rule_fingerprint": TEXT,
    "run_id": TEXT,
    "trigger": TEXT,
    "outcome": TEXT,
    "score": DOUBLE,
    "verdict": TEXT,
    "reason": TEXT,
    "hits": TEXTS,
    "misses": TEXTS,
    "details": JSON,
    "evidence": TEXTS,
    "error_type": TEXT,
    "error_message": TEXT,
    "duration_ms": DOUBLE,
    "cost_usd": DOUBLE,
    "input_tokens": BIGINT,
    "output_tokens": BIGINT,
    "created_at": TIME,
    "first_seq": BIGINT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One evaluator's outcome on a job."""

    job: PendingJob
    evaluator: str
    type: str
    fingerprint: str
    criteria_hash: str
    outcome: Outcome
    duration_ms: float | None
    created_at_ns: int


class ResultsWrite:
    """The write of results, each once; jobs that have all of theirs end with it.

    Results of jobs that are gone are marked superseded; of decisions that were erased, dropped.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = arrow_table(_RESULTS, [_result_row(result) for result in results])
        self._since = min(r.job.decided_at_ns for r in results)

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        with registered(connection, new_results=self._wanted(connection)):
            connection.execute(statement("insert_results"), [self._since])
            connection.execute(statement("finish_jobs"), [self._since])

    def _wanted(self, connection: duckdb.DuckDBPyConnection) -> pa.Table:
        """Return the results whose decisions are still there."""
        with registered(connection, new_results=self._results):
            orphans = connection.execute(statement("orphaned_results")).to_arrow_table()
        if not orphans.num_rows:
            return self._results
        with registered(connection, asked=orphans):
            standing = connection.execute(
                statement("standing_decisions"), [self._since]
            ).to_arrow_table()
        erased = pc.filter(
            orphans["decision_id"],
            pc.invert(pc.is_in(orphans["decision_id"], standing["decision_id"].combine_chunks())),
        )
        found = pc.is_in(self._results["decision_id"], erased.combine_chunks())
        return self._results.filter(pc.invert(found))


def _result_row(result: Result) -> Row:
    job = result.job
    return (
        job.decision_id,
        result.evaluator,
        result.type,
        result.fingerprint,
        result.criteria_hash,
        "",
        job.target_kind,
        job.target_id,
        job.trace_id,
        job.revision,
        job.rule,
        job.rule_fingerprint,
        job.run_id,
        "on_demand" if job.run_id else "live",
        *_outcome_row(result.outcome),
        result.duration_ms,
        *_spent_row(result.outcome.spent),
        max(result.created_at_ns, job.decided_at_ns),
        job.first_seq,
    )


def _spent_row(spent: Spent | None) -> Row:
    """Return cost_usd, input_tokens, output_tokens."""
    if spent is None:
        return None, None, None
    return spent.usd, spent.input_tokens, spent.output_tokens


def _outcome_row(outcome: Outcome) -> Row:
    """Return outcome, score, verdict, reason, hits, misses, details, evidence and the error."""
    match outcome:
        case Score():
            return (
                "score",
                outcome.value,
                outcome.verdict,
                outcome.reason,
                outcome.hits,
                outcome.misses,
                json_text(outcome.details) or "{}",
                outcome.evidence,
                None,
                None,
            )
        case Skip():
            details = json_text(outcome.details) or "{}"
            return "skip", None, None, outcome.reason, [], [], details, [], None, None
        case Failure():
            trace = {"traceback": outcome.traceback} if outcome.traceback else {}
            details = json_text(trace) or "{}"
            error = (outcome.error_type, outcome.message)
            return "failure", None, None, outcome.message, [], [], details, [], *error
