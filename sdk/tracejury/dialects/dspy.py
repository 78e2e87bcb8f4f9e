"""DSPy, which others record: OpenInference, MLflow, OpenLIT.

Source: dspy 3.4 with openinference-instrumentation-dspy 0.1.48.
"""

from __future__ import annotations

from tracejury.dialects.rules import Dialect, NameRule

DIALECT = Dialect(
    name="dspy",
    label="DSPy",
    source="dspy 3.4.1 through openinference-instrumentation-dspy 0.1.48",
    names=(
        # ReAct gives its answer by a tool of its own.
        NameRule(r"finish\.__call__", "step", overrides=True),
        NameRule(r"([a-z_]\w*)\.__call__", "tool"),
    ),
    missing=(
        "DSPy has no tracing of its own.",
        "OpenInference records no tokens of DSPy's model calls: instrument LiteLLM as well.",
    ),
    enable="""\
pip install openinference-instrumentation-dspy openinference-instrumentation-litellm

from openinference.instrumentation.dspy import DSPyInstrumentor
from openinference.instrumentation.litellm import LiteLLMInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
)
DSPyInstrumentor().instrument(tracer_provider=provider)
LiteLLMInstrumentor().instrument(tracer_provider=provider)
""",
)
