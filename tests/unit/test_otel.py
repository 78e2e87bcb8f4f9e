"""instrument(): this process's spans go to the service as well."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tracejury import instrument
from tracejury.errors import DefinitionError, MissingExtraError
from tracejury.otel import _headers

HERE = "http://127.0.0.1:4318"


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    """A provider that is shut down without spans to export."""
    made = TracerProvider()
    yield made
    made.shutdown()


def endpoints(provider: TracerProvider) -> list[str]:
    """Return where the provider's batch processors export to."""
    processors = provider._active_span_processor._span_processors
    return [
        str(vars(processor.span_exporter)["_endpoint"])
        for processor in processors
        if isinstance(processor, BatchSpanProcessor)
    ]


def test_calling_it_again_changes_nothing(provider: TracerProvider) -> None:
    for endpoint in (HERE, f"{HERE}/", f"{HERE}/v1/traces"):
        assert instrument(endpoint, tracer_provider=provider) is provider
    assert endpoints(provider) == [f"{HERE}/v1/traces"]


def test_two_services_are_two_exporters(provider: TracerProvider) -> None:
    instrument(HERE, tracer_provider=provider)
    instrument("http://127.0.0.1:5318", tracer_provider=provider)
    assert len(endpoints(provider)) == 2


def test_without_an_endpoint_the_default_port_is_meant(
    provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    instrument(tracer_provider=provider)
    assert endpoints(provider) == [f"{HERE}/v1/traces"]


def test_the_exporters_own_environment_is_respected(
    provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    instrument(tracer_provider=provider)
    instrument(tracer_provider=provider)
    assert endpoints(provider) == ["http://collector:4318/v1/traces"]


@pytest.mark.parametrize("endpoint", ["127.0.0.1:4318", "grpc://127.0.0.1:4317", ""])
def test_an_endpoint_that_is_no_url_is_refused_with_an_example(
    endpoint: str, provider: TracerProvider
) -> None:
    with pytest.raises(DefinitionError, match="write it like"):
        instrument(endpoint, tracer_provider=provider)


def test_a_name_that_an_existing_provider_cannot_take_is_said(
    provider: TracerProvider, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        instrument(HERE, "booking", tracer_provider=provider)
    assert "service name" in caplog.text


def test_the_name_that_the_provider_has_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    named = TracerProvider(resource=Resource.create({"service.name": "booking"}))
    with caplog.at_level(logging.WARNING):
        instrument(HERE, "booking", tracer_provider=named)
    named.shutdown()
    assert caplog.text == ""


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tracejury\[instrument\]'"):
        instrument(HERE)


def test_the_key_goes_to_the_service_and_to_no_endpoint_of_the_exporters_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TRACEJURY_API_KEY", raising=False)
    assert _headers(None, None, HERE) is None
    monkeypatch.setenv("TRACEJURY_API_KEY", "tj_own")
    assert _headers(None, None, HERE) == {"x-api-key": "tj_own"}
    assert _headers(None, None, None) is None
    assert _headers({"a": "b"}, "tj_given", None) == {"x-api-key": "tj_given", "a": "b"}
    assert _headers(None, "", HERE) is None
