"""Calls about runs: judging history on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from typing_extensions import Unpack

from tracejury.client.call import call, every, streamed
from tracejury.client.request import Request, document, get, post, segment, send
from tracejury.client.stream import Stream
from tracejury.rest import Page, Run, RunEstimate


class RunAsked(TypedDict, total=False):
    """What to judge, and what judges it; None is as good as not given.

    One of `rule`, `evaluators` and `shadow` ({"evaluator": NAME, "candidate": {…}}) says what
    judges; `where`, `since` and `until`, or `trace_ids`, which traces; `rate` which share of them;
    `rejudge` whether also what the same version has judged already.
    """

    rule: str | None
    evaluators: Sequence[str]
    shadow: Mapping[str, Any] | None
    where: str | None
    trace_ids: Sequence[str] | None
    since: str | None
    until: str | None
    rate: float | None
    rejudge: bool


class RunCalls:
    """Runs over history."""

    @call
    def start_run(self, /, **request: Unpack[RunAsked]) -> Request[Run]:
        """Begin to judge history, by a rule, by evaluators, or by a candidate as well."""
        return post("/api/runs", Run, _given(request))

    @call
    def estimate_run(self, /, **request: Unpack[RunAsked]) -> Request[RunEstimate]:
        """Return what `start_run` with the same request would do, and what that would cost."""
        body = {**_given(request), "dry_run": True}
        return post("/api/runs", RunEstimate, body, repeat="if_lost")

    @call
    def run(self, run_id: str) -> Request[Run]:
        """Return how far a run is, and what came of it."""
        return get(f"/api/runs/{segment(run_id)}", Run)

    @call
    def runs(
        self,
        *,
        state: str | None = None,
        rule: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Request[Page[Run]]:
        """Return one page of runs, newest first."""
        params = {"state": state, "rule": rule, "limit": limit, "cursor": cursor}
        return get("/api/runs", Page[Run], params)

    all_runs = every(runs, Run)

    @call
    def cancel_run(self, run_id: str) -> Request[Run]:
        """End a run: what it has judged stays, what waits is dropped."""
        return send("DELETE", f"/api/runs/{segment(run_id)}", document(Run))

    @streamed
    def follow_run(self, run_id: str, patience_s: float = 30.0) -> Stream[Run]:
        """Yield the run now, and at each change until it has ended.

        A service that goes away and comes back, as in a restart, is waited for.

        Raises: UnreachableError where it is away for longer than `patience_s`; the run goes on.
        """
        return Stream(
            path=f"/api/runs/{segment(run_id)}/events",
            model=Run,
            is_last=lambda run: run.state != "running",
            patience_s=patience_s,
        )


def _given(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given; empty sequences and None are left out."""
    return {k: list(v) if _is_list(v) else v for k, v in request.items() if v not in (None, (), [])}


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
