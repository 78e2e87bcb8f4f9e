"""How long after it is sent a trace can be read through the API."""

from __future__ import annotations

import statistics
import threading
import time
import urllib.request
from typing import Self

import otlp_load
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from running import Service

EVERY_S = 0.2
GIVE_UP_S = 30.0


class Visibility(threading.Thread):
    """Sends a trace now and then, and asks for it until it is there, until it is left."""

    def __init__(self, running: Service) -> None:
        super().__init__(daemon=True)
        self._running = running
        self._left = threading.Event()
        self._source = otlp_load.Source(
            otlp_load.build_pool("trace", "genai", "proto"), 100_000, False, None
        )
        self.taken_s: list[float] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        self.join()

    def run(self) -> None:
        """Send and ask, one trace after the other."""
        while not self._left.wait(EVERY_S):
            body, spans = self._source.next()
            self.taken_s.append(self._time(body.tobytes(), spans))

    def _time(self, body: bytes, spans: int) -> float:
        headers = {"Content-Type": "application/x-protobuf"}
        request = urllib.request.Request(f"{self._running.http}/v1/traces", body, headers)
        question = f"SELECT count(*) FROM spans WHERE trace_id = '{_trace_id(body)}'"
        began = time.perf_counter()
        with urllib.request.urlopen(request, timeout=GIVE_UP_S):
            pass
        while self._running.scalar(question) < spans:
            if time.perf_counter() - began > GIVE_UP_S:
                break
        return time.perf_counter() - began

    def figures(self) -> dict[str, float]:
        """Return median, 99th percentile and number of the times, in ms."""
        taken = sorted(self.taken_s)
        p99 = taken[min(len(taken) - 1, int(len(taken) * 0.99))]
        median = statistics.median(taken)
        return {"p50": round(median * 1e3), "p99": round(p99 * 1e3), "traces": len(taken)}


def _trace_id(body: bytes) -> str:
    message = ExportTraceServiceRequest.FromString(body)
    identity: bytes = message.resource_spans[0].scope_spans[0].spans[0].trace_id
    return identity.hex()
