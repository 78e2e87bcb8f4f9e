"""A typed client of the REST API."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from tracejury.errors import ApiError, UnreachableError
from tracejury.otlp_files import read_requests
from tracejury.rest import (
    DialectReport,
    EvaluatorType,
    Explanation,
    Health,
    Imported,
    Page,
    Problem,
    Result,
    SessionDetail,
    SessionSummary,
    SqlResult,
    TraceDetail,
    TraceSummary,
)

DEFAULT_URL = "http://127.0.0.1:4319"
Model = TypeVar("Model", bound=BaseModel)
Params = Mapping[str, str | int | None]
MESSAGES_KEPT = 20


class Client:
    """The API of one running service.

    `url` is where its API listens: the argument, else TRACEJURY_URL, else the default port.

    Raises: UnreachableError where nothing answers, ApiError where the service refuses.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        timeout_s: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = (url or os.environ.get("TRACEJURY_URL") or DEFAULT_URL).rstrip("/")
        try:
            self._http = httpx.Client(
                base_url=self.url, timeout=timeout_s, transport=transport, trust_env=False
            )
        except httpx.InvalidURL as error:
            raise UnreachableError(f"{self.url!r} is not a URL: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

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
        return self._get("/api/traces", Page[TraceSummary], params)

    def trace(self, trace_id: str) -> TraceDetail:
        """Return the rebuilt trace with its results and decisions."""
        return self._get(f"/api/traces/{quote(trace_id, safe='')}", TraceDetail)

    def explain(self, trace_id: str) -> Explanation:
        """Return why the trace was, or was not, judged."""
        return self._get(f"/api/traces/{quote(trace_id, safe='')}/explain", Explanation)

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
        return self._get("/api/sessions", Page[SessionSummary], params)

    def session(
        self, session_id: str, *, project: str | None = None, limit: int = 200
    ) -> SessionDetail:
        """Return the totals of a session and its latest traces in order of start.

        `project` is needed where several projects have the id and it is not in the one that was
        active last.
        """
        params = {"project": project, "limit": limit}
        return self._get(f"/api/sessions/{_segment(session_id)}", SessionDetail, params)

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
        return self._get("/api/results", Page[Result], params)

    def sql(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        limit: int = 1000,
    ) -> SqlResult:
        """Return the rows of a read-only query over the stable views."""
        body = {"sql": query, "params": params or [], "limit": limit}
        return self._parse(self._send("POST", "/api/sql", json=body), SqlResult)

    def import_file(
        self,
        path: Path,
        *,
        signal: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Imported:
        """Return what became of the spans in an OTLP file: protobuf, JSON or JSON lines.

        `signal` ("traces" or "logs") is needed for protobuf files of logs only.
        `progress` is told the bytes done after each request.

        Raises: OSError where the file cannot be read.
        """
        total = Imported(received=0, stored=0)
        for content_type, body in read_requests(path):
            response = self._send(
                "POST",
                "/api/traces/import",
                params={"signal": signal} if signal else None,
                content=body,
                headers={"content-type": content_type},
            )
            total = _add(total, self._parse(response, Imported))
            if progress:
                progress(len(body))
        return total

    def dialects(self, *, unread: int = 100) -> DialectReport:
        """Return the dialects, what was seen of each, and the `unread` most frequent unread."""
        return self._get("/api/dialects", DialectReport, {"unread": unread})

    def evaluator_types(self) -> list[EvaluatorType]:
        """Return the types of evaluators there are: those built in, then those of plugins."""
        return self._get("/api/evaluator-types", Page[EvaluatorType]).items

    def plugins(self) -> list[EvaluatorType]:
        """Return the types of evaluators that plugins brought."""
        return self._get("/api/plugins", Page[EvaluatorType]).items

    def health(self) -> Health:
        """Return the state of the service once it is ready to be used."""
        return self._get("/readyz", Health)

    def _get(self, path: str, model: type[Model], params: Params | None = None) -> Model:
        given = {k: v for k, v in (params or {}).items() if v is not None}
        return self._parse(self._send("GET", path, params=given), model)

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = self._http.request(method, path, **options)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(
                f"no Tracejury service answers at {self.url} ({reason}); "
                "start one with 'tracejury serve', or name another with --url or TRACEJURY_URL"
            ) from error
        if response.is_success:
            return response
        raise _error(response)

    def _parse(self, response: httpx.Response, model: type[Model]) -> Model:
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            raise UnreachableError(
                f"what answers at {self.url} is not a Tracejury service of this version: "
                f"{error.errors()[0]['msg']} in its {model.__name__}; check the address"
            ) from error


def _segment(text: str) -> str:
    """Return the text as one segment of a path, whatever it holds."""
    quoted = quote(text, safe="", errors="replace")
    return quoted.replace(".", "%2E") if text in (".", "..") else quoted


def _error(response: httpx.Response) -> ApiError:
    """Return the error in a refusal, made up from its status where it is not a problem."""
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        return ApiError(
            status=response.status_code,
            code="unknown",
            detail=f"the service answered {response.status_code}: {response.text[:200]!r}",
            remedy="check that the address is that of a Tracejury service",
        )
    return ApiError(
        status=response.status_code,
        code=problem.code,
        detail=problem.detail or problem.title,
        remedy=problem.remedy,
    )


def _add(a: Imported, b: Imported) -> Imported:
    return Imported(
        received=a.received + b.received,
        stored=a.stored + b.stored,
        duplicate=a.duplicate + b.duplicate,
        rejected=a.rejected + b.rejected,
        messages=(a.messages + b.messages)[:MESSAGES_KEPT],
    )
