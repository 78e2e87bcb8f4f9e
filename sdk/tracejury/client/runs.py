"""Calls about runs: judging history on demand."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracejury.client.connection import Connection, segment
from tracejury.errors import ApiError, UnreachableError
from tracejury.rest import Page, Run, RunEstimate

_DATA = "data: "
_PAUSE_S = 0.5
_QUIET_S = 60.0
"""An event stream that says nothing for this long, not even that nothing is new, is broken."""


class RunCalls(Connection):
    """Runs over history."""

    def start_run(self, **request: Any) -> Run:
        """Begin to judge history.

        One of `rule`, `evaluators` and `shadow` says what judges; `where`, `since` and `until`, or
        `trace_ids`, which traces; `rate` which share of them; `rejudge` whether also what the same
        version has judged already.
        """
        return self.parse(self.send("POST", "/api/runs", json=_given(request)), Run)

    def estimate_run(self, **request: Any) -> RunEstimate:
        """Return what `start_run` with the same request would do, and what that would cost."""
        body = {**_given(request), "dry_run": True}
        return self.parse(self.send("POST", "/api/runs", json=body), RunEstimate)

    def run(self, run_id: str) -> Run:
        """Return how far a run is, and what came of it."""
        return self.get(f"/api/runs/{segment(run_id)}", Run)

    def runs(
        self,
        *,
        state: str | None = None,
        rule: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Run]:
        """Return one page of runs, newest first."""
        params = {"state": state, "rule": rule, "limit": limit, "cursor": cursor}
        return self.get("/api/runs", Page[Run], params)

    def cancel_run(self, run_id: str) -> Run:
        """End a run: what it has judged stays, what waits is dropped."""
        return self.parse(self.send("DELETE", f"/api/runs/{segment(run_id)}"), Run)

    def follow_run(self, run_id: str, patience_s: float = 30.0) -> Iterator[Run]:
        """Yield the run now, and at each change until it has ended.

        A service that goes away and comes back, as in a restart, is waited for.

        Raises: UnreachableError where it is away for longer than `patience_s`; the run goes on.
        """
        deadline_s = time.monotonic() + patience_s
        while True:
            try:
                for run in self._told(run_id):
                    deadline_s = time.monotonic() + patience_s
                    yield run
                    if run.state != "running":
                        return
            except (UnreachableError, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500:
                    raise
                if time.monotonic() > deadline_s:
                    raise
            time.sleep(_PAUSE_S)

    def _told(self, run_id: str) -> Iterator[Run]:
        """Yield the run as one stream of events tells of it."""
        for line in self.lines(f"/api/runs/{segment(run_id)}/events", _QUIET_S):
            if line.startswith(_DATA):
                yield Run.model_validate_json(line.removeprefix(_DATA))


def _given(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given; empty sequences and None are left out."""
    return {k: list(v) if _is_list(v) else v for k, v in request.items() if v not in (None, (), [])}


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
