"""Whether the service lives, works, and how it does."""

from __future__ import annotations

import time
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from tracejury.rest import Health
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.errors import Unavailable
from tracejury_collector.metrics import CONTENT_TYPE, Metrics

router = APIRouter(tags=["operation"])

_TEXT = {"type": "string", "examples": ["tracejury_open_traces 3.0\n"]}


class Alive(BaseModel):
    """What a process says that lives."""

    status: Literal["ok"] = Field(description="always ok; no answer says otherwise")


@router.get("/healthz", responses=problems())
async def healthz() -> Alive:
    """Say that the process answers. Takes no key, and says nothing else."""
    return Alive(status="ok")


@router.get("/readyz", responses=problems())
def readyz(context: Context) -> Health:
    """Say that the database answers and the service does its work; 503 until then."""
    if not context.ready():
        raise Unavailable("the service is starting; ask again in a second")
    with context.db.read() as cursor:
        cursor.execute("SELECT 1")
    return _health(context)


@router.get(
    "/metrics",
    response_class=Response,
    responses=problems()
    | {200: {"description": "the metrics", "content": {"text/plain": {"schema": _TEXT}}}},
)
def metrics(request: Request) -> Response:
    """Return the metrics in Prometheus' text format."""
    found: Metrics = request.app.state.metrics
    return Response(found.render(), media_type=CONTENT_TYPE)


def _health(context: ApiContext) -> Health:
    return Health(
        status="ok",
        version=context.version,
        uptime_s=max(0, time.time_ns() - context.started_ns) / 1e9,
        listen=dict(context.listen),
    )
