"""Agno, which others record: OpenInference, OpenLLMetry, OpenLIT.

Source: agno 3.1 with openinference-instrumentation-agno 1.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="agno",
    label="Agno",
    source="agno 3.1.10 through openinference-instrumentation-agno",
    prefixes=("agno.",),
    missing=(
        "OpenLLMetry records neither session nor user of an Agno run.",
        "With streaming, OpenLLMetry's spans of one run fall apart into several traces.",
    ),
    enable="""\
pip install openinference-instrumentation-agno

from openinference.instrumentation.agno import AgnoInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
)
AgnoInstrumentor().instrument(tracer_provider=provider)
agent.run(question, session_id=session_id, user_id=user_id)
""",
)
