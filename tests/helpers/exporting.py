"""A stock exporter at work; run as a script, by whichever version of OpenTelemetry is installed.

Usage: exporting.py TRANSPORT ENDPOINT SERVICE SECONDS SPANS_PER_SECOND
Prints how many spans ended, were handed to the exporter, and became of them, as it says.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

TICK_S = 0.02
PATIENCE_MS = 30_000


class Counting(SpanExporter):
    """Counts what an exporter says of the spans that it is handed."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.acknowledged = 0
        self.dropped = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Hand the spans on and return what comes of it."""
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.acknowledged += len(spans)
        else:
            self.dropped += len(spans)
        return result

    def shutdown(self) -> None:
        """Stop the exporter."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = PATIENCE_MS) -> bool:
        """Wait for the exporter."""
        return self._exporter.force_flush(timeout_millis)


def make_exporter(transport: str, endpoint: str) -> SpanExporter:
    """Return the stock exporter of the transport."""
    exporter: Any
    if transport == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter(endpoint=endpoint, insecure=True)
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter as HttpSpanExporter,
        )

        exporter = HttpSpanExporter(endpoint=f"{endpoint}/v1/traces")
    return exporter  # type: ignore[no-any-return]


def main(transport: str, endpoint: str, service: str, seconds: float, rate: float) -> None:
    """Make spans for some seconds, wait until all are sent, and print what became of them."""
    logging.disable(logging.CRITICAL)
    exporter = Counting(make_exporter(transport, endpoint))
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=200))
    tracer = provider.get_tracer("exporting")
    ended, started_s = 0, time.monotonic()
    while (elapsed_s := time.monotonic() - started_s) < seconds:
        while ended < elapsed_s * rate:
            tracer.start_span("sent", attributes={"number": ended}).end()
            ended += 1
        time.sleep(TICK_S)
    provider.force_flush(PATIENCE_MS)
    provider.shutdown()
    print(  # noqa: T201
        json.dumps(
            {"ended": ended, "acknowledged": exporter.acknowledged, "dropped": exporter.dropped}
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), float(sys.argv[5]))
