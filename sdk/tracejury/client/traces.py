"""Calls about traces and sessions."""

from __future__ import annotations

from tracejury.client.call import call, every, streamed
from tracejury.client.request import Request, get, segment
from tracejury.client.stream import Stream
from tracejury.rest import (
    Explanation,
    Page,
    SessionDetail,
    SessionExplanation,
    SessionSummary,
    TraceDetail,
    TraceSummary,
)


class TraceCalls:
    """What agents did."""

    @call
    def traces(
        self,
        *,
        where: str | None = None,
        project: str | None = None,
        service: str | None = None,
        session_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Request[Page[TraceSummary]]:
        """Return one page of traces, newest first."""
        params = {
            "where": where,
            "project": project,
            "service": service,
            "session_id": session_id,
            "since": since,
            "until": until,
            "limit": limit,
            "cursor": cursor,
        }
        return get("/api/traces", Page[TraceSummary], params)

    all_traces = every(traces, TraceSummary)

    @streamed
    def trace_events(
        self,
        *,
        where: str | None = None,
        service: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        patience_s: float = 30.0,
    ) -> Stream[TraceSummary]:
        """Yield traces from now on: when their first spans arrive, and when they are finished.

        A service that goes away and comes back is waited for, and nothing is missed.
        """
        params = {"where": where, "service": service, "project": project, "session_id": session_id}
        return Stream(
            path="/api/traces/events", model=TraceSummary, params=params, patience_s=patience_s
        )

    @call
    def trace(self, trace_id: str) -> Request[TraceDetail]:
        """Return the rebuilt trace with its results and decisions."""
        return get(f"/api/traces/{segment(trace_id)}", TraceDetail)

    @call
    def explain(self, trace_id: str) -> Request[Explanation]:
        """Return why the trace was, or was not, judged."""
        return get(f"/api/traces/{segment(trace_id)}/explain", Explanation)

    @call
    def sessions(
        self,
        *,
        where: str | None = None,
        project: str | None = None,
        service: str | None = None,
        user_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Request[Page[SessionSummary]]:
        """Return one page of sessions, latest activity first."""
        params = {
            "where": where,
            "project": project,
            "service": service,
            "user_id": user_id,
            "since": since,
            "until": until,
            "limit": limit,
            "cursor": cursor,
        }
        return get("/api/sessions", Page[SessionSummary], params)

    all_sessions = every(sessions, SessionSummary)

    @call
    def session(
        self, session_id: str, *, project: str | None = None, limit: int = 200
    ) -> Request[SessionDetail]:
        """Return the totals of a session and its latest traces in order of start.

        `project` is needed where several projects have the id and it is not in the one that was
        active last.
        """
        params = {"project": project, "limit": limit}
        return get(f"/api/sessions/{segment(session_id)}", SessionDetail, params)

    @call
    def explain_session(
        self, session_id: str, *, project: str | None = None
    ) -> Request[SessionExplanation]:
        """Return why the session was, or was not, judged as a whole."""
        path = f"/api/sessions/{segment(session_id)}/explain"
        return get(path, SessionExplanation, {"project": project})
