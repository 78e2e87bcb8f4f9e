"""Who may call which route: one table, and a route that does not stand in it serves nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Depends, Request

from tracejury_collector.errors import Forbidden
from tracejury_collector.keys.model import Scope
from tracejury_collector.keys.ring import ANYONE, Caller, authorize

Projects = Literal["none", "own", "all"]
"""What a route shows: nothing of a project, only the caller's project, or all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a key must allow for a route; `scope` None takes any key that counts."""

    scope: Scope | None
    projects: Projects

    @property
    def changes(self) -> bool:
        """Whether calls stand in the audit log; what is ingested is counted elsewhere."""
        return self.scope in ("write", "admin")


OPEN: Final = "/healthz"
"""The one path that takes no key."""

_ANY = Access(scope=None, projects="none")
_FACTS = Access(scope="read", projects="none")
_READ_OWN = Access(scope="read", projects="own")
_READ_ALL = Access(scope="read", projects="all")
_WRITE_ALL = Access(scope="write", projects="all")
_ADMIN = Access(scope="admin", projects="all")
_INGEST = Access(scope="ingest", projects="own")

ACCESS: Final[Mapping[str, Access]] = {
    f"GET {OPEN}": _ANY,
    "GET /readyz": _ANY,
    "GET /docs": _ANY,
    "GET /docs/oauth2-redirect": _ANY,
    "GET /openapi.json": _ANY,
    "* /static-offline-docs": _ANY,
    "* /mcp": _ANY,  # its tools ask the other routes with the caller's key
    "GET /metrics": _READ_ALL,
    "POST /api/traces/import": _INGEST,
    "GET /api/traces": _READ_OWN,
    "GET /api/traces/events": _READ_OWN,
    "GET /api/traces/{trace_id}": _READ_OWN,
    "GET /api/traces/{trace_id}/explain": _READ_OWN,
    "GET /api/sessions": _READ_OWN,
    "GET /api/sessions/{session_id:anything}": _READ_OWN,
    "GET /api/sessions/{session_id:anything}/explain": _READ_OWN,
    "GET /api/results": _READ_OWN,
    "GET /api/results/events": _READ_OWN,
    "GET /api/pass-rates": _READ_OWN,
    "GET /api/agreement": _READ_ALL,
    "GET /api/labels": _READ_OWN,
    "POST /api/labels": _WRITE_ALL,
    "DELETE /api/labels/{label_id:anything}": _WRITE_ALL,
    "GET /api/evaluator-types": _FACTS,
    "GET /api/plugins": _FACTS,
    "GET /api/evaluators": _READ_ALL,
    "GET /api/evaluators/{name:anything}": _READ_ALL,
    "PUT /api/evaluators/{name:anything}": _WRITE_ALL,
    "DELETE /api/evaluators/{name:anything}": _WRITE_ALL,
    "GET /api/rules": _READ_ALL,
    "GET /api/rules/{name:anything}": _READ_ALL,
    "PUT /api/rules/{name:anything}": _WRITE_ALL,
    "DELETE /api/rules/{name:anything}": _WRITE_ALL,
    "POST /api/runs": _WRITE_ALL,
    "GET /api/runs": _READ_ALL,
    "GET /api/runs/{run_id}": _READ_ALL,
    "DELETE /api/runs/{run_id}": _WRITE_ALL,
    "GET /api/runs/{run_id}/events": _READ_ALL,
    "POST /api/sql": _READ_ALL,
    "GET /api/views": _FACTS,
    "GET /api/storage": _READ_ALL,
    "POST /api/erasures": _ADMIN,
    "GET /api/erasures": _ADMIN,
    "GET /api/erasures/{erasure_id}": _ADMIN,
    "POST /api/compactions": _ADMIN,
    "GET /api/compactions": _READ_ALL,
    "GET /api/compactions/{compaction_id}": _READ_ALL,
    "POST /api/snapshots": _ADMIN,
    "GET /api/snapshots": _ADMIN,
    "GET /api/snapshots/{snapshot_id}": _ADMIN,
    "GET /api/snapshots/{snapshot_id}/file": _ADMIN,
    "DELETE /api/snapshots/{snapshot_id}": _ADMIN,
    "GET /api/export/{view}.parquet": _READ_OWN,
    "GET /api/audit": _READ_ALL,
    "GET /api/budgets": _READ_ALL,
    "GET /api/alerts": _READ_ALL,
    "GET /api/alerts/{name}": _READ_ALL,
    "POST /api/alerts/{name}/test": _WRITE_ALL,
    "GET /api/exports": _READ_ALL,
    "GET /api/dialects": _READ_ALL,
    "POST /api/renormalizations": _ADMIN,
    "GET /api/renormalizations": _READ_ALL,
    "GET /api/renormalizations/{request_id}": _READ_ALL,
    "DELETE /api/renormalizations/{request_id}": _ADMIN,
}


def check_access(caller: Caller, route: str) -> None:
    """Check that the caller may use the route, named as in the table.

    Raises: Forbidden
    """
    access = ACCESS.get(route)
    if access is None:
        if caller is not ANYONE:
            raise Forbidden(f"{route} is declared for no key; this is a fault of the service")
        return
    if access.scope is not None:
        authorize(caller, access.scope)
    if caller.project is not None and access.projects == "all":
        raise Forbidden(
            f"the key {caller.key_id} ({caller.name!r}) sees the project {caller.project!r} alone, "
            f"and {route} sees all of them; use a key that is bound to no project"
        )


async def caller_of(request: Request) -> Caller:
    """Return who makes the request."""
    caller: Caller = request.state.caller
    return caller


async def authorized(request: Request) -> None:
    """Check the route that was chosen for the request: a dependency of all routes.

    Raises: Forbidden
    """
    try:
        check_access(await caller_of(request), f"{request.method} {request.scope['route'].path}")
    except Forbidden as error:
        request.app.state.context.keys.refusals.note(error)
        raise


CallerIs = Annotated[Caller, Depends(caller_of)]


def own_project(caller: Caller, asked: str | None) -> str | None:
    """Return the project that the caller may see of what is asked for; None: all of them.

    Raises: Forbidden
    """
    if caller.project is None:
        return asked
    if asked not in (None, caller.project):
        raise Forbidden(
            f"the key {caller.key_id} ({caller.name!r}) sees the project {caller.project!r} alone; "
            "leave project out"
        )
    return caller.project


def check_where(caller: Caller, where: str | None) -> None:
    """Check that the caller may choose by a condition of its own.

    Raises: Forbidden
    """
    if where is not None and caller.project is not None:
        raise Forbidden(
            "where: a condition is tried on rows of all projects, and its errors would show "
            "them; a key of a project chooses by the other parameters"
        )
