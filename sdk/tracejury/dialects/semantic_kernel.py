"""Semantic Kernel for Python.

Source: semantic-kernel 1.20.0, 1.45.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import Dialect, NameRule

DIALECT = Dialect(
    name="semantic_kernel",
    label="Semantic Kernel",
    source="semantic-kernel 1.20.0 to 1.45.0 (Python)",
    scopes=("semantic_kernel",),
    prefixes=("sk.",),
    names=(NameRule(r"AutoFunctionInvocationLoop", "step"),),
    tool_names=(r"[A-Za-z0-9_]+-(.+)",),
    known=("sk.available_functions", "CHAT_MESSAGE_INDEX"),
    missing=(
        "Messages, arguments and results of functions are recorded only with the sensitive "
        "diagnostics on; the messages stand in log records, so logs must be exported as well.",
        "Tool names are recorded as PLUGIN-FUNCTION; the function's own name is kept.",
        "Streaming calls report tokens only where the service sends its usage.",
    ),
    enable="""\
export SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS=true
export SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED=true
opentelemetry-instrument --logs_exporter otlp python app.py""",
)
