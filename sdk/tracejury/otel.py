"""Point this process's OpenTelemetry exporter at a Tracejury service, and say what came of it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tracejury.errors import DefinitionError, MissingExtraError
from tracejury.labels import (
    AUTHOR,
    EVENT_NAME,
    EXPLANATION,
    LABEL_ID,
    NAME,
    SCORE_LABEL,
    SCORE_VALUE,
    VERDICT,
    meaning,
)
from tracejury.result import Verdict

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    from tracejury.rest import LabelInput

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
    api_key: str | None = None,
    tracer_provider: TracerProvider | None = None,
) -> TracerProvider:
    """Return the tracer provider whose spans now go to the service as well.

    `endpoint` is the base URL of its OTLP/HTTP port: the argument, else the exporter's own
    environment variables, else http://127.0.0.1:4318. The spans of the global provider, or of
    `tracer_provider`, are exported by the stock batch processor; where no provider is set yet,
    one is made with `service_name` and `project` and set. Calling it again changes nothing.
    `api_key` is a key with the scope ingest: the argument, else TRACEJURY_API_KEY, unless the
    exporter's environment names the endpoint: another's server must not be told the key.

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
            exporter = OTLPSpanExporter(endpoint=url, headers=_headers(headers, api_key, url))
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


def _headers(
    given: Mapping[str, str] | None, api_key: str | None, url: str | None
) -> dict[str, str] | None:
    """Return the headers to send, None where the exporter's environment says which."""
    if api_key is None and url is not None:
        api_key = os.environ.get("TRACEJURY_API_KEY", "").strip()
    own = {"x-api-key": api_key} if api_key else {}
    return {**own, **(given or {})} or None


def _named(service_name: str | None, project: str | None) -> dict[str, str]:
    given = {"service.name": service_name, "tracejury.project": project}
    return {key: value for key, value in given.items() if value}


def _resource(service_name: str | None, project: str | None) -> Resource:
    from opentelemetry.sdk.resources import Resource

    return Resource.create(_named(service_name, project))


def _is_named(provider: TracerProvider, service_name: str | None, project: str | None) -> bool:
    attributes = provider.resource.attributes
    return _named(service_name, project).items() <= dict(attributes).items()


def score(
    name: str,
    value: bool | float | str | None = None,
    *,
    verdict: Verdict | None = None,
    comment: str = "",
    author: str = "",
    label_id: str | None = None,
    trace_id: str | int | None = None,
    span_id: str | int | None = None,
    session_id: str | None = None,
    url: str | None = None,
) -> bool:
    """Attach feedback, and return whether it was recorded.

    `value` is true or false (pass or fail), a number on any scale, or a word. Without a target
    the current span carries it, as a `gen_ai.evaluation.result` event, to wherever that span is
    exported; where no span is recording nothing happens. With a `trace_id` (and a `span_id`), as
    text or as OpenTelemetry's number, or with a `session_id`, it is sent to the service's API at
    `url` at once: people often say what they think after the trace has ended. A `label_id` of
    yours makes it safe to say it twice, and lets it be changed.

    Raises: DefinitionError for what is no label; with a target UnreachableError and ApiError;
    without one MissingExtraError where OpenTelemetry is not installed.
    """
    given = {
        "name": name,
        "value": value,
        "verdict": verdict,
        "comment": comment,
        "author": author,
        "label_id": label_id,
        "trace_id": _hex(trace_id, 32),
        "span_id": _hex(span_id, 16),
        "session_id": session_id,
    }
    if trace_id is None and span_id is None and session_id is None:
        return _score_current_span(given)
    from tracejury.client import Client

    label = _label(given)
    with Client(url) as client:
        client.label(label)
    return True


def _hex(given: str | int | None, digits: int) -> str | None:
    """Return an id as text; OpenTelemetry holds it as a number."""
    return f"{given:0{digits}x}" if isinstance(given, int) else given


def _label(given: Mapping[str, object]) -> LabelInput:
    from pydantic import ValidationError

    from tracejury.rest import LabelInput

    try:
        return LabelInput.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = first["loc"][0] if first["loc"] else "score()"
        raise DefinitionError(f"{place}: {first['msg']} (got {first['input']!r:.200})") from error


def _score_current_span(given: Mapping[str, object]) -> bool:
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise MissingExtraError(
            f"tracejury.score() on the current span needs OpenTelemetry ({error}): "
            "pip install 'tracejury[instrument]', or give a trace_id"
        ) from error
    span = trace.get_current_span()
    context = span.get_span_context()
    label = _label({**given, "trace_id": _hex(context.trace_id or 1, 32)})
    if not context.is_valid:
        _warn_without_span()
    if not span.is_recording():
        return False
    span.add_event(EVENT_NAME, _attributes(label))
    return True


def _attributes(label: LabelInput) -> dict[str, str | float]:
    """Return what the standard event says of a label; a truth value is a number and a word."""
    said = meaning(label.value, verdict=label.verdict)
    found: dict[str, str | float | None] = {
        NAME: label.name,
        SCORE_VALUE: said.value,
        SCORE_LABEL: said.label or said.verdict,
        VERDICT: label.verdict,
        EXPLANATION: label.comment,
        AUTHOR: label.author,
        LABEL_ID: label.label_id,
    }
    return {key: value for key, value in found.items() if value is not None and value != ""}


@cache
def _warn_without_span() -> None:
    log.warning("tracejury.score(): no span is current, nothing is recorded; give a trace_id")
