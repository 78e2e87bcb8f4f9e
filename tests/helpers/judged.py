"""Decisions and results as rows, without a worker and a jury: for what is computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from tests.helpers.api import START_NS

_TRACE: dict[str, Any] = {
    "first_seq": 0, "last_seq": 0, "name": "run", "kind": "agent", "span_count": 1, "llm_calls": 1,
    "tool_calls": 0, "error_count": 0, "has_error": False, "has_root": True, "root_ended": True,
    "flags": [], "completed_by": "marker",
}  # fmt: skip
_RESULT: dict[str, Any] = {
    "type": "check", "criteria_hash": "", "case_id": "", "reason": "",
    "hits": [], "misses": [], "details": "{}", "evidence": [],
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Decided:
    """One live decision on a trace, and what its one evaluator found; `found` "" found nothing."""

    number: int
    outcome: str = "selected"
    found: str = "score"
    verdict: str | None = "pass"
    score: float | None = None
    probability: float | None = 1.0
    upstream: float | None = 1.0
    stratum: str | None = None
    sampled_by: str | None = "trace"
    session_id: str | None = None
    rule: str = "live"
    rule_version: str = "rv1"
    evaluator: str = "check"
    version: str = "v1"
    service: str = "booking"
    project: str = "default"
    agent: str | None = "planner"
    models: Sequence[str] = ("gpt-5",)
    at_ns: int = START_NS
    run_id: str = ""
    revision: int = 1
    superseded: bool = False
    target: str = "trace"

    @property
    def trace_id(self) -> str:
        """The trace."""
        return f"{self.number:032x}"

    @property
    def target_id(self) -> str:
        """What is judged: the trace, or the session that it is all of."""
        return self.trace_id if self.target == "trace" else f"session-{self.number}"

    @property
    def key(self) -> str:
        """The id of the decision."""
        return f"{self.rule_version}-{self.run_id}-{self.number}-{self.revision}"


def insert_decided(connection: duckdb.DuckDBPyConnection, decided: Iterable[Decided]) -> None:
    """Write traces, decisions and results; a trace that several rules decide on stands once."""
    rows = list(decided)
    traces = {(d.trace_id, d.revision): _trace(d) for d in rows}
    _insert(connection, "traces", list(traces.values()))
    sessions = [_session(d) for d in rows if d.target == "session"]
    _insert(connection, "session_revisions", sessions)
    _insert(connection, "decisions", list({d.key: _decision(d) for d in rows}.values()))
    judged = [d for d in rows if d.outcome == "selected" and d.found]
    _insert(connection, "results", [_result(d) for d in judged])


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[dict[str, Any]]
) -> None:
    if not rows:
        return
    times = {"decided_at", "completed_at", "created_at"}
    marks = ", ".join("make_timestamp_ns(?)" if name in times else "?" for name in rows[0])
    values = ", ".join([f"({marks})"] * len(rows))
    sql = f"INSERT INTO base.{table} ({', '.join(rows[0])}) VALUES {values}"
    connection.execute(sql, [value for row in rows for value in row.values()])


def _trace(d: Decided) -> dict[str, Any]:
    return _TRACE | {
        "trace_id": d.trace_id,
        "revision": d.revision,
        "project": d.project,
        "service_name": d.service,
        "agent_name": d.agent,
        "session_id": d.session_id,
        "models": list(d.models),
        "completed_at": d.at_ns,
        "superseded": d.superseded,
    }


def _session(d: Decided) -> dict[str, Any]:
    member = {"trace_id": d.trace_id, "revision": d.revision, "first_seq": 0, "last_seq": 0}
    return {
        "target_id": d.target_id,
        "revision": d.revision,
        "project": d.project,
        "session_id": d.session_id,
        "traces": 1,
        "members": [member],
        "first_seq": 0,
        "last_seq": 0,
        "completed_at": d.at_ns,
        "superseded": d.superseded,
    }


def _decision(d: Decided) -> dict[str, Any]:
    return {
        "decision_id": d.key,
        "rule": d.rule,
        "rule_fingerprint": d.rule_version,
        "run_id": d.run_id,
        "target_kind": d.target,
        "target_id": d.target_id,
        "revision": d.revision,
        "outcome": d.outcome,
        "reason": "",
        "stratum": d.stratum,
        "probability": d.probability,
        "evaluators": [d.evaluator] if d.outcome == "selected" else [],
        "project": d.project,
        "session_id": d.session_id,
        "sampled_by": d.sampled_by,
        "upstream_probability": d.upstream,
        "decided_at": d.at_ns,
    }


def _result(d: Decided) -> dict[str, Any]:
    is_score = d.found == "score"
    usual = {"pass": 1.0, "partial": 0.5, "fail": 0.0}.get(d.verdict or "", 1.0)
    return _RESULT | {
        "decision_id": d.key,
        "evaluator": d.evaluator,
        "fingerprint": d.version,
        "target_kind": d.target,
        "target_id": d.target_id,
        "trace_id": d.trace_id,
        "revision": d.revision,
        "rule": d.rule,
        "rule_fingerprint": d.rule_version,
        "run_id": d.run_id,
        "trigger": "on_demand" if d.run_id else "live",
        "outcome": d.found,
        "score": (usual if d.score is None else d.score) if is_score else None,
        "verdict": d.verdict if is_score else None,
        "superseded": d.superseded,
        "created_at": d.at_ns,
    }
