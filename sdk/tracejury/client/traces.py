"""Calls about traces and sessions."""

from __future__ import annotations

from urllib.parse import quote

from tracejury.client.connection import Connection, segment
from tracejury.rest import (
    Explanation,
    Page,
    SessionDetail,
    SessionExplanation,
    SessionSummary,
    TraceDetail,
    TraceSummary,
)


class TraceCalls(Connection):
    """What agents did."""

    def traces(
        self,
        *,
        where: str | None = None,
        service: str | None = None,
        session_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[TraceSummary]:
        """Return one page of traces, newest first."""
        params = {
            "where": where,
            "service": service,
            "session_id": session_id,
            "since": since,
            "until": until,
            "limit": limit,
            "cursor": cursor,
        }
        return self.get("/api/traces", Page[TraceSummary], params)

    def trace(self, trace_id: str) -> TraceDetail:
        """Return the rebuilt trace with its results and decisions."""
        return self.get(f"/api/traces/{quote(trace_id, safe='')}", TraceDetail)

    def explain(self, trace_id: str) -> Explanation:
        """Return why the trace was, or was not, judged."""
        return self.get(f"/api/traces/{quote(trace_id, safe='')}/explain", Explanation)

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
    ) -> Page[SessionSummary]:
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
        return self.get("/api/sessions", Page[SessionSummary], params)

    def session(
        self, session_id: str, *, project: str | None = None, limit: int = 200
    ) -> SessionDetail:
        """Return the totals of a session and its latest traces in order of start.

        `project` is needed where several projects have the id and it is not in the one that was
        active last.
        """
        params = {"project": project, "limit": limit}
        return self.get(f"/api/sessions/{segment(session_id)}", SessionDetail, params)

    def explain_session(self, session_id: str, *, project: str | None = None) -> SessionExplanation:
        """Return why the session was, or was not, judged as a whole."""
        path = f"/api/sessions/{segment(session_id)}/explain"
        return self.get(path, SessionExplanation, {"project": project})
