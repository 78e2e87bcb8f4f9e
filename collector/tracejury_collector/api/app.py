"""The API as one ASGI application."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from anyio import CapacityLimiter
from fastapi import Depends, FastAPI
from fastapi_offline import FastAPIOffline
from prometheus_client.core import Metric

from tracejury_collector.api import (
    agreement,
    alerts,
    audit,
    budgets,
    definitions,
    dialects,
    erasures,
    events,
    exports,
    health,
    imports,
    labels,
    maintenance,
    parquet,
    pass_rates,
    renormalizations,
    results,
    runs,
    sessions,
    sql,
    storage,
    traces,
    types,
    views,
)
from tracejury_collector.api.access import authorized
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.description import described
from tracejury_collector.api.guard import SMALL_BODY_BYTES, BodyLimit, Guard, beside
from tracejury_collector.api.lane import Lane
from tracejury_collector.api.mcp import mcp_route
from tracejury_collector.api.measures import service_metrics
from tracejury_collector.api.problems import install_problems
from tracejury_collector.api.representations import HeadAsGet, Representations
from tracejury_collector.api.streams import Streams
from tracejury_collector.metrics import LatencyMiddleware, Metrics, gauge
from tracejury_collector.origins import Hosts
from tracejury_collector.store.audit import record_change

_DESCRIPTION = """
Traces of agents, rebuilt from their OpenTelemetry spans, and what the jury found.

Lists answer `{items, next_cursor}`. Errors are `application/problem+json` with a machine `code`
and a `remedy`. Times are RFC 3339 in UTC.
"""
_TAGS = [
    {"name": "traces", "description": "What agents did."},
    {"name": "sessions", "description": "Traces of one conversation."},
    {"name": "results", "description": "What evaluators found."},
    {"name": "rates", "description": "What passes, and how far evaluators can be trusted."},
    {"name": "runs", "description": "Judging of history on demand."},
    {"name": "labels", "description": "What people and programs say."},
    {"name": "evaluators", "description": "What can judge."},
    {"name": "alerts", "description": "Who is told when something is wrong."},
    {"name": "definitions", "description": "Rules and evaluators, changed while it runs."},
    {"name": "sql", "description": "Read-only questions over the stable views."},
    {"name": "operation", "description": "Whether the service works."},
]

_ROUTERS = (
    sessions.explaining,
    imports.router,
    events.router,
    traces.router,
    sessions.router,
    results.router,
    labels.router,
    pass_rates.router,
    agreement.router,
    runs.router,
    sql.router,
    views.router,
    parquet.router,
    types.router,
    budgets.router,
    audit.router,
    alerts.router,
    exports.router,
    dialects.router,
    renormalizations.router,
    storage.router,
    erasures.router,
    maintenance.router,
    definitions.router,
    health.router,
)
"""In the order in which they are asked whether a path is theirs."""

# What receives spans sends none: pointed at itself, it would never come to rest.
_NO_TELEMETRY = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(context: ApiContext) -> FastAPI:
    """Return the application that serves `context`."""
    app = FastAPIOffline(
        title="Tracejury",
        version=context.version,
        description=_DESCRIPTION,
        openapi_tags=_TAGS,
        redoc_url=None,
        telemetry=_NO_TELEMETRY,
        generate_unique_id_function=lambda route: route.name,
        dependencies=[Depends(authorized)],
    )
    app.state.context = context
    sql_settings = context.config.sql
    app.state.sql_lane = Lane("queries", at_once=sql_settings.at_once, wait_s=sql_settings.wait)
    app.state.streams = Streams()
    app.state.metrics = Metrics(
        lambda: (*service_metrics(context), _streams_metric(app.state.streams))
    )
    app.state.export_lane = CapacityLimiter(parquet.EXPORTS_AT_ONCE)
    app.state.definitions_lane = CapacityLimiter(definitions.CHANGES_WAITING)
    install_problems(app)
    for router in _ROUTERS:
        app.include_router(router)
    app.router.routes.append(mcp_route(app))
    app.state.routes = [*app.routes, *(route for router in _ROUTERS for route in router.routes)]
    app.openapi = described(app.openapi)  # type: ignore[method-assign]
    # The last one added sees a request first.
    app.add_middleware(Representations)
    app.add_middleware(BodyLimit, limit_bytes=_limits(context))
    listen = context.config.listen
    app.add_middleware(audit.Audited, record=partial(record_change, context.db))
    app.add_middleware(
        Guard,
        keys=context.keys,
        hosts=Hosts(listen.api, listen.hosts),
        beside=beside(app),
    )
    app.add_middleware(LatencyMiddleware, metrics=app.state.metrics)
    app.add_middleware(HeadAsGet)
    return app


def _streams_metric(streams: Streams) -> Metric:
    return gauge("tracejury_event_streams", "Clients that follow events.", len(streams))


def _limits(context: ApiContext) -> Callable[[str], int]:
    """Return the largest body by path."""

    def limit_bytes(path: str) -> int:
        large = path.rstrip("/") == "/api/traces/import"
        return context.config.limits.request_bytes if large else SMALL_BODY_BYTES

    return limit_bytes
