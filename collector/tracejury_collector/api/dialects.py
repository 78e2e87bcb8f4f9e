"""The dialects that are known, how often each was seen, and what none of them reads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from tracejury.dialects import active
from tracejury.dialects.rules import Dialect
from tracejury.dialects.unread import EVENT
from tracejury.rest import DialectReport, DialectSeen, UnreadAttribute
from tracejury.view import rfc3339
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.store.reads import DialectCount, count_dialects
from tracejury_collector.store.unread import MAX_ROWS, Unread, list_unread

router = APIRouter(tags=["operation"])

RECORDS = 1_000_000
"""Of so many of the newest records, spans are counted by dialect."""


class DialectQuery(BaseModel):
    """How much of the report to answer; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid")

    unread: int = Field(
        default=100, ge=0, le=MAX_ROWS, description="most attributes that no rule reads"
    )


@router.get("/api/dialects", responses=problems(422))
def list_dialects(context: Context, query: Annotated[DialectQuery, Query()]) -> DialectReport:
    """List the dialects in order of recognition, and what looks like GenAI content and is unread.

    Spans are counted among the newest million records. What is unread is counted as it is
    received, over restarts; it is forgotten a month after it was last seen.
    """
    counts = {count.dialect: count for count in count_dialects(context.db, RECORDS)}
    unread = list_unread(context.db)
    nothing = counts.get("")
    return DialectReport(
        dialects=[_dialect(context, dialect, counts) for dialect in active().dialects],
        spans_without_dialect=nothing.spans if nothing else 0,
        unread=[_unread(row) for row in unread[: query.unread]],
        unread_count=len(unread),
    )


def _dialect(context: ApiContext, dialect: Dialect, counts: dict[str, DialectCount]) -> DialectSeen:
    count = counts.get(dialect.name)
    file = context.dialect_files.get(dialect.name)
    return DialectSeen(
        name=dialect.name,
        label=dialect.label or dialect.name,
        origin="file" if file else "built_in",
        file=file,
        source=dialect.source,
        scopes=list(dialect.scopes),
        prefixes=list(dialect.prefixes),
        spans=count.spans if count else 0,
        last_seen=rfc3339(count.last_seen_ns) if count else None,
        fields=sorted({rule.field for rule in dialect.rules}),
        missing=list(dialect.missing),
        enable=dialect.enable,
    )


def _unread(row: Unread) -> UnreadAttribute:
    is_event = row.key.startswith(EVENT)
    return UnreadAttribute(
        scope=row.scope,
        key=row.key.removeprefix(EVENT) if is_event else row.key,
        kind="event" if is_event else "attribute",
        spans=row.spans,
        example=row.example,
        first_seen=rfc3339(row.first_seen_ns) or "",
        last_seen=rfc3339(row.last_seen_ns) or "",
    )
