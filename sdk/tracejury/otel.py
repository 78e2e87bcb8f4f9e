"""Point this process's OpenTelemetry exporter at a Tracejury service."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tracejury.errors import DefinitionError, MissingExtraError

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

DEFAULT_ENDPOINT = "http://127.0.0.1:4318"
_TRACES_PATH = "/v1/traces"
_ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

log = logging.getLogger("tracejury")
_lock = threading.Lock()
_exporting: WeakKeyDictionary[TracerProvider, set[str]] = WeakKeyDictionary()


def instrument(
    endpoint: str | None = None,
    service_name: str | None = None,
    *,
    project: str | None = None,
    headers: Mapping[str, str] | None = None,
    tracer_provider: TracerProvider | None = None,
) -> TracerProvider:
    """Return the tracer provider whose spans now go to the service as well.

    `endpoint` is the base URL of its OTLP/HTTP port: the argument, else the exporter's own
    environment variables, else http://127.0.0.1:4318. The spans of the global provider, or of
    `tracer_provider`, are exported by the stock batch processor; where no provider is set yet,
    one is made with `service_name` and `project` and set. Calling it again changes nothing.

    Raises: MissingExtraError without the `instrument` extra; DefinitionError for an endpoint
    that is not an http(s) URL.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtraError(
            f"tracejury.instrument() needs OpenTelemetry's SDK and OTLP exporter ({error}): "
            "pip install 'tracejury[instrument]'"
        ) from error
    url = _traces_url(endpoint)
    with _lock:
        provider = tracer_provider or trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):
            provider = TracerProvider(resource=_resource(service_name, project))
            trace.set_tracer_provider(provider)
        elif not _is_named(provider, service_name, project):
            log.warning("a tracer provider exists; its service name and project stand as they are")
        targets = _exporting.setdefault(provider, set())
        if (url or "environment") not in targets:
            exporter = OTLPSpanExporter(endpoint=url, headers=dict(headers) if headers else None)
            provider.add_span_processor(BatchSpanProcessor(exporter))
            targets.add(url or "environment")
    return provider


def _traces_url(endpoint: str | None) -> str | None:
    """Return where traces are sent, None where the exporter's environment says so."""
    if endpoint is None:
        if any(os.environ.get(name) for name in _ENDPOINT_VARIABLES):
            return None
        endpoint = DEFAULT_ENDPOINT
    if not endpoint.startswith(("http://", "https://")):
        raise DefinitionError(
            f"the endpoint {endpoint!r} is not an http(s) URL; write it like {DEFAULT_ENDPOINT!r}"
        )
    base = endpoint.rstrip("/")
    return base if base.endswith(_TRACES_PATH) else base + _TRACES_PATH


def _named(service_name: str | None, project: str | None) -> dict[str, str]:
    given = {"service.name": service_name, "tracejury.project": project}
    return {key: value for key, value in given.items() if value}


def _resource(service_name: str | None, project: str | None) -> Resource:
    from opentelemetry.sdk.resources import Resource

    return Resource.create(_named(service_name, project))


def _is_named(provider: TracerProvider, service_name: str | None, project: str | None) -> bool:
    attributes = provider.resource.attributes
    return _named(service_name, project).items() <= dict(attributes).items()
