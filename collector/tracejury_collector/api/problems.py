"""The one error map of the API: every error becomes application/problem+json."""

from __future__ import annotations

import http
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route

from tracejury.errors import TracejuryError
from tracejury.rest import FieldFault, Problem, SqlPosition
from tracejury_collector import errors
from tracejury_collector.config.fields import section_of
from tracejury_collector.config.nearest import unknown_setting

log = logging.getLogger("tracejury.api")

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1
_SHOWN_VALUE = 100
_HEADERS = {
    401: {"www-authenticate": 'Bearer realm="tracejury"'},
    503: {"retry-after": str(RETRY_AFTER_S)},
}

_DEFINITION = re.compile(
    r"(?:(?:evaluators|rules)\.[^:]*?(?=[.:]))?(?:[.]|: )?(?:evaluator [^:]+: )?"
    r"(?:(?P<field>[a-z_]+(?:[.\[][\w.\[\]-]*)?): )?(?P<message>.*)",
    re.DOTALL,
)
"""What ConfigError says of a definition: `evaluators.fast: evaluator TYPE: config.x: words`."""

_SQL_REMEDY = "read docs/sql.md for the views and what may be asked"
_REMEDY = "correct the request; /docs describes it"

# The most specific class first: its status, code, title, and the remedy where it names none.
_ERRORS: tuple[tuple[type[Exception], int, str, str, str], ...] = (
    (errors.Unauthenticated, 401, "unauthenticated", "A key is needed", "send a key"),
    (errors.Forbidden, 403, "forbidden", "Not for this key", "use another key"),
    (errors.HostRefused, 403, "host_refused", "Unknown host", _REMEDY),
    (errors.OriginRefused, 403, "origin_refused", "Cross-origin request", _REMEDY),
    (errors.MalformedRequest, 400, "malformed_request", "The request cannot be parsed", _REMEDY),
    (errors.UnsupportedMediaType, 415, "unsupported_media_type", "Unknown media type", _REMEDY),
    (errors.TooLarge, 413, "too_large", "The request is too large", "send less at a time"),
    (errors.NotFound, 404, "not_found", "Not found", "check the id"),
    (errors.InvalidRequest, 422, "invalid_request", "The request is not valid", _REMEDY),
    (errors.TooManyRuns, 409, "too_many_runs", "Too many runs go on", "wait, or cancel one"),
    (errors.Conflict, 409, "conflict", "It does not fit to what is there", "look at what is there"),
    (errors.PreconditionFailed, 412, "precondition_failed", "It is another version", _REMEDY),
    (errors.ConfigError, 422, "invalid_definition", "It cannot be used like this", _REMEDY),
    (errors.SqlRefused, 422, "sql_refused", "The SQL was refused", _SQL_REMEDY),
    (errors.Unavailable, 503, "unavailable", "Try again soon", "send the same request again"),
    (TracejuryError, 400, "bad_request", "The request cannot be served", _REMEDY),
)


def install_problems(app: FastAPI) -> None:
    """Make every error of the app a problem document."""
    app.add_exception_handler(TracejuryError, _on_tracejury_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_crash)


def problem(
    status: int,
    code: str,
    title: str,
    detail: str = "",
    remedy: str = "",
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """Return a problem document as a response."""
    body = {
        "type": f"urn:tracejury:problem:{code}",
        "title": title,
        "status": status,
        "code": code,
        "detail": detail,
        "remedy": remedy,
        **more,
    }
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def malformed_http() -> tuple[str, bytes]:
    """Return media type and body of the answer to what is no HTTP, before any route is known."""
    detail = "this is no HTTP request, or its URL is longer than 64 KiB"
    answer = problem(400, "malformed_request", "The request cannot be parsed", detail, _REMEDY)
    return MEDIA_TYPE, bytes(answer.body)


def problem_of(error: TracejuryError) -> Problem:
    """Return the problem document of an error of ours."""
    _, status, code, title, usual = next(e for e in _ERRORS if isinstance(error, e[0]))
    detail, _, remedy = str(error).partition("; ")
    found = Problem(
        type=f"urn:tracejury:problem:{code}",
        title=title,
        status=status,
        code=code,
        detail=detail,
        remedy=remedy or usual,
    )
    if isinstance(error, errors.ConfigError):
        found.errors = [_named_field(detail)]
    if isinstance(error, errors.SqlRefused) and error.place is not None:
        found.position = SqlPosition(**asdict(error.place))
    return found


async def _on_tracejury_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TracejuryError)
    return refusal_of(error)


def refusal_of(error: TracejuryError) -> JSONResponse:
    """Return the answer that tells of an error of ours."""
    found = problem_of(error)
    return JSONResponse(
        found.model_dump(mode="json", exclude_unset=True),
        status_code=found.status,
        media_type=MEDIA_TYPE,
        headers=_HEADERS.get(found.status),
    )


def _named_field(detail: str) -> FieldFault:
    """Return the field that is wrong with a definition, and what is wrong with it."""
    match = _DEFINITION.fullmatch(detail)
    field, message = (match["field"] or "body", match["message"]) if match else ("body", detail)
    return FieldFault(field=field, message=message)


async def _on_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    model = _body_model(request)
    fields = [_field_error(item, model) for item in error.errors()]
    first = fields[0] if fields else {"field": "body", "message": "is not valid"}
    return problem(
        422,
        "invalid_request",
        "The request is not valid",
        f"{first['field']}: {first['message']}",
        "correct the named field; /docs describes the request",
        errors=fields,
    )


def _body_model(request: Request) -> type[BaseModel] | None:
    """Return what the body of the request is read as; None where it takes none."""
    route = request.scope.get("route")
    field = route.body_field if isinstance(route, APIRoute) else None
    return section_of(field.field_info.annotation) if field else None


def _field_error(item: Mapping[str, Any], model: type[BaseModel] | None) -> dict[str, str]:
    place, *path = [str(part) for part in item["loc"]]
    message = str(item["msg"])
    if item["type"] == "extra_forbidden" and place == "body" and model:
        return {"field": ".".join(path), "message": unknown_setting(model, path)}
    if item["type"] not in ("missing", "json_invalid"):
        message += f" (got {repr(item.get('input'))[:_SHOWN_VALUE]})"
    return {"field": ".".join(path) or place, "message": message}


async def _on_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    title = http.HTTPStatus(error.status_code).phrase
    code = title.lower().replace(" ", "_").replace("-", "_")
    detail, remedy = str(error.detail), ""
    if error.status_code == 404:
        detail, remedy = f"nothing is served at {request.url.path!r}", "/docs lists the paths"
    elif error.status_code == 405:
        allowed = ", ".join(_allowed(request))
        detail, remedy = f"{request.method} is not served at {request.url.path!r}", f"use {allowed}"
        return problem(405, code, title, detail, remedy, {"allow": allowed})
    return problem(error.status_code, code, title, detail, remedy, error.headers)


def _allowed(request: Request) -> list[str]:
    """Return the methods that are served at the path of a request, by the first that has it."""
    routes: Sequence[BaseRoute] = request.app.state.routes
    asked = {key: request.scope.get(key) for key in ("type", "method", "path", "raw_path")}
    matching = [
        route
        for route in routes
        if isinstance(route, Route) and route.matches(asked)[0] is not Match.NONE
    ]
    same = [route for route in matching if route.path == matching[0].path]
    found = {method for route in same for method in route.methods or ()}
    return sorted(found | ({"HEAD"} if "GET" in found else set()))


async def _on_crash(request: Request, error: Exception) -> JSONResponse:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    detail = f"the service failed on this request: {type(error).__name__}"
    return problem(500, "internal", "Internal error", detail, "the service's log says more")
