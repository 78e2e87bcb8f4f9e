"""Calls about what judges and what came of it."""

from __future__ import annotations

from tracejury.client.call import call, every, streamed
from tracejury.client.request import Request, get, get_items
from tracejury.client.stream import Stream
from tracejury.rest import EvaluatorType, Page, Result


class JudgingCalls:
    """Results, and the evaluators there are."""

    @call
    def results(
        self,
        *,
        trace_id: str | None = None,
        target_id: str | None = None,
        project: str | None = None,
        evaluator: str | None = None,
        rule: str | None = None,
        outcome: str | None = None,
        verdict: str | None = None,
        since: str | None = None,
        superseded: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Request[Page[Result]]:
        """Return one page of results, newest first.

        `target_id` is a trace's id, or a session's: its project, a slash, its id.
        """
        params = {
            "trace_id": trace_id,
            "target_id": target_id,
            "project": project,
            "evaluator": evaluator,
            "rule": rule,
            "outcome": outcome,
            "verdict": verdict,
            "since": since,
            "superseded": "true" if superseded else None,
            "limit": limit,
            "cursor": cursor,
        }
        return get("/api/results", Page[Result], params)

    all_results = every(results, Result)

    @streamed
    def result_events(
        self,
        *,
        project: str | None = None,
        evaluator: str | None = None,
        rule: str | None = None,
        outcome: str | None = None,
        verdict: str | None = None,
        patience_s: float = 30.0,
    ) -> Stream[Result]:
        """Yield results from now on, as they are stored.

        A service that goes away and comes back is waited for, and nothing is missed.
        """
        params = {
            "project": project,
            "evaluator": evaluator,
            "rule": rule,
            "outcome": outcome,
            "verdict": verdict,
        }
        return Stream(
            path="/api/results/events", model=Result, params=params, patience_s=patience_s
        )

    @call
    def evaluator_types(self) -> Request[list[EvaluatorType]]:
        """Return the types of evaluators there are: those built in, then those of plugins."""
        return get_items("/api/evaluator-types", EvaluatorType)

    @call
    def plugins(self) -> Request[list[EvaluatorType]]:
        """Return the types of evaluators that plugins brought."""
        return get_items("/api/plugins", EvaluatorType)
