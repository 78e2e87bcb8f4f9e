"""Exports of results: where to, and how far they have come."""

from __future__ import annotations

from fastapi import APIRouter

from tracejury.rest import ExportState, Page
from tracejury.view import rfc3339
from tracejury_collector.api.alerts import place_of
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.export.exporter import NAME
from tracejury_collector.store.exports import ExportMark, count_after, find_mark

router = APIRouter(tags=["operation"])


@router.get("/api/exports", responses=problems())
def list_exports(context: Context) -> Page[ExportState]:
    """List the configured exports of results with how far they have come."""
    state = _state(context)
    return Page(items=[state] if state else [])


def _state(context: ApiContext) -> ExportState | None:
    settings = context.config.export.otlp
    if settings.endpoint is None:
        return None
    mark = find_mark(context.db, NAME) or ExportMark(name=NAME, position=0)
    return ExportState(
        name=NAME,
        endpoint=place_of(settings.endpoint),
        protocol=settings.protocol,
        sent=mark.sent,
        rejected=mark.rejected,
        dropped=mark.dropped,
        waiting=count_after(context.db, mark.position),
        last_sent_at=_time(mark.last_sent_at_ns),
        failing_since=_time(mark.failing_since_ns),
        last_error=mark.last_error,
    )


def _time(time_ns: int | None) -> str | None:
    return None if time_ns is None else rfc3339(time_ns)
