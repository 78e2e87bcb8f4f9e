"""Calls about what judges and what came of it."""

from __future__ import annotations

from tracejury.client.connection import Connection
from tracejury.rest import (
    EvaluatorType,
    Page,
    Result,
)


class JudgingCalls(Connection):
    """Results, and the evaluators there are."""

    def results(
        self,
        *,
        trace_id: str | None = None,
        evaluator: str | None = None,
        rule: str | None = None,
        outcome: str | None = None,
        verdict: str | None = None,
        since: str | None = None,
        superseded: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Result]:
        """Return one page of results, newest first."""
        params = {
            "trace_id": trace_id,
            "evaluator": evaluator,
            "rule": rule,
            "outcome": outcome,
            "verdict": verdict,
            "since": since,
            "superseded": "true" if superseded else None,
            "limit": limit,
            "cursor": cursor,
        }
        return self.get("/api/results", Page[Result], params)

    def evaluator_types(self) -> list[EvaluatorType]:
        """Return the types of evaluators there are: those built in, then those of plugins."""
        return self.get("/api/evaluator-types", Page[EvaluatorType]).items

    def plugins(self) -> list[EvaluatorType]:
        """Return the types of evaluators that plugins brought."""
        return self.get("/api/plugins", Page[EvaluatorType]).items
