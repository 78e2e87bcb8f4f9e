"""The audit log: every change over the API stands in it before it is answered."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Annotated, Literal

import duckdb
from fastapi import APIRouter, Query
from pydantic import Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracejury.errors import TracejuryError
from tracejury.rest import AuditEntry, Page
from tracejury.view import rfc3339
from tracejury_collector.api.access import ACCESS
from tracejury_collector.api.cursors import decode_cursor, encode_cursor
from tracejury_collector.api.dependencies import Context, ListQuery, problems
from tracejury_collector.api.times import parse_time
from tracejury_collector.keys.ring import Caller
from tracejury_collector.store.audit import AuditFilter, Change, Row, list_changes

WAIT_S = 5.0
TARGET_CHARACTERS = 500

router = APIRouter(tags=["operation"])
log = logging.getLogger("tracejury.audit")


class AuditQuery(ListQuery):
    """Which changes to list."""

    key: str | None = Field(default=None, description="by the key of this id or name")
    outcome: Literal["done", "refused", "failed"] | None = Field(
        default=None, description="done, refused since it is not for that key, or failed"
    )
    since: str | None = Field(
        default=None, description="answered then or later: RFC 3339, or 90m, 6h, 2d ago"
    )


@router.get("/api/audit", responses=problems(400, 422))
def list_audit(context: Context, query: Annotated[AuditQuery, Query()]) -> Page[AuditEntry]:
    """List who changed what over the API, and who tried to, newest first."""
    before = decode_cursor(query.cursor, (int, str)) if query.cursor else (None, None)
    now_ns = time.time_ns()
    wanted = AuditFilter(
        key=query.key,
        outcome=query.outcome,
        since_ns=parse_time(query.since, "since", now_ns) if query.since else None,
        before_ns=before[0],
        before_id=before[1],
        limit=query.limit + 1,
    )
    rows = list_changes(context.db, wanted)
    last = rows[query.limit - 1] if len(rows) > query.limit else None
    cursor = encode_cursor(last["created_at_ns"], last["audit_id"]) if last else None
    items = [_shown(row) for row in rows[: query.limit]]
    return Page(items=items, next_cursor=cursor)


def _shown(row: Row) -> AuditEntry:
    fields = {key: value for key, value in row.items() if key != "created_at_ns"}
    return AuditEntry(**fields, created_at=rfc3339(row["created_at_ns"]) or "")


class Audited:
    """Has every change recorded before it is answered; reads and what is ingested are no changes.

    What cannot be recorded is answered all the same, for it was done, and told in the log.
    """

    def __init__(self, app: ASGIApp, record: Callable[[Change], Future[None]]) -> None:
        self._app = app
        self._record = record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def recorded(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._note(scope, message["status"])
            await send(message)

        await self._app(scope, receive, recorded)

    async def _note(self, scope: Scope, status: int) -> None:
        route = getattr(scope.get("route"), "path", "")
        access = ACCESS.get(f"{scope['method']} {route}")
        if access is None or not access.changes:
            return
        change = _change(scope, route, status)
        try:
            async with asyncio.timeout(WAIT_S):
                await asyncio.wrap_future(self._record(change))
        except (TracejuryError, duckdb.Error, TimeoutError) as error:
            log.error("a change is missing in the audit log (%s): %s", error, change)  # noqa: TRY400


def _change(scope: Scope, route: str, status: int) -> Change:
    caller: Caller = scope["state"]["caller"]
    return Change(
        at_ns=time.time_ns(),
        key_id=caller.key_id or None,
        key_name=caller.name or None,
        project=caller.project,
        method=scope["method"],
        route=route,
        target=scope["path"][:TARGET_CHARACTERS],
        status=status,
    )
