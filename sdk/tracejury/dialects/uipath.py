"""UiPath's tracing decorators.

Source: uipath 2.14.44, uipath-core 0.5.33.
"""

from __future__ import annotations

from tracejury.dialects.rules import MARK, Dialect, KindRule

DIALECT = Dialect(
    name="uipath",
    label="UiPath",
    source="uipath 2.14.44",
    scopes=("uipath.",),
    prefixes=("uipath.",),
    kinds=(
        KindRule(
            "span_type",
            MARK,
            {
                "agent": "agent",
                "tool": "tool",
                "llm": "llm",
                "function_call_sync": "workflow",
                "function_call_async": "workflow",
                "function_call_generator_sync": "workflow",
                "function_call_generator_async": "workflow",
            },
        ),
    ),
    known=("span_type", "run_type", "execution.id"),
    missing=(
        "Model calls are recorded only by an instrumentation beside it, such as OpenInference's.",
    ),
    enable="""\
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
# in Python:
from uipath.tracing import traced
@traced(name="travel_agent", span_type="agent")
def travel_agent(question: str) -> str: ...""",
)
