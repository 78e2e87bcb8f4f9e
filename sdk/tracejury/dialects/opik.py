"""Opik: marks on the spans of other libraries.

Source: opik 2.2.
"""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="opik",
    label="Opik",
    source="opik 2.2",
    scopes=("opik",),
    known=("opik.",),
    missing=(
        "`@opik.track` and the integrations write to Opik's own API; only its span processor marks "
        "the spans of other libraries, and those are read as what they are.",
    ),
    enable="""\
# Spans of other OpenTelemetry libraries, marked for Opik, come here as well:
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

trace.get_tracer_provider().add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
)
""",
)
