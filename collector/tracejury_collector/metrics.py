"""The service's own metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Metrics:
    """The metrics of one service; `families` gives the ones that are read at each scrape."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_AtScrape(families))
        ProcessCollector(registry=self._registry)
        self._latency = Histogram(
            "tracejury_http_request_seconds",
            "Time to answer a request of the API.",
            ["method", "route", "status"],
            buckets=_BUCKETS_S,
            registry=self._registry,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._latency.labels(method, route, str(status)).observe(seconds)

    def render(self) -> bytes:
        """Return every metric in Prometheus' text format."""
        return generate_latest(self._registry)


class _AtScrape(Collector):
    """Metrics that are read when they are asked for."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics as they are now."""
        return self._families()


def gauge(name: str, help_text: str, value: float) -> Metric:
    """Return a value of this moment."""
    return GaugeMetricFamily(name, help_text, value=value)


def gauges(
    name: str, help_text: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]
) -> Metric:
    """Return values of this moment by the values of their labels."""
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def counter(
    name: str, help_text: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]
) -> Metric:
    """Return counts by the values of their labels."""
    family = CounterMetricFamily(name, help_text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


class LatencyMiddleware:
    """Observes how long each route takes to answer; unknown paths count as one route.

    A stream of events is answered when it begins.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s, status, streams_s = time.perf_counter(), 500, 0.0

        async def observed(message: Message) -> None:
            nonlocal status, streams_s
            if message["type"] == "http.response.start":
                status = message["status"]
                if _is_event_stream(message):
                    streams_s = time.perf_counter()
            await send(message)

        try:
            await self._app(scope, receive, observed)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            ended_s = streams_s or time.perf_counter()
            self._metrics.observe(method, route, status, ended_s - started_s)


def _is_event_stream(start: Message) -> bool:
    media_types = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    return any(value.startswith(b"text/event-stream") for value in media_types)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
