"""smolagents, which others record: OpenInference, MLflow, OpenLIT.

Source: smolagents 1.26 with openinference-instrumentation-smolagents.
"""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="smolagents",
    label="smolagents",
    source="smolagents 1.26.0 through openinference-instrumentation-smolagents",
    missing=(
        "smolagents has no tracing of its own.",
        "Arguments that a tool is called with by position have no names.",
        "The tool `final_answer` gives the agent's answer and is no tool call.",
    ),
    enable="""\
pip install 'smolagents[telemetry]' openinference-instrumentation-smolagents

from openinference.instrumentation import using_attributes
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
)
SmolagentsInstrumentor().instrument(tracer_provider=provider)
with using_attributes(session_id=session_id, user_id=user_id):
    agent.run(question)
""",
)
