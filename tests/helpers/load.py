"""A load of small agent traces at a steady rate, which keeps count of what was acknowledged."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACES, SPANS = 64, 8
SPANS_OF_REQUEST = TRACES * SPANS
_RUN = b"run-here"
_START, _END = 0x1111111111111111, 0x2222222222222222
_LENGTH_NS = 1_500_000_000
_TEXT = "The train to Lisbon leaves at seven, and a seat by the window is free. " * 4


def _template() -> bytes:
    """Return a request of many traces; ids and times are put in place of marks."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "booking"
    spans = group.scope_spans.add().spans
    for trace in range(1, TRACES + 1):
        for number in range(1, SPANS + 1):
            span = spans.add(name="invoke_agent booker" if number == 1 else f"chat {number}")
            span.trace_id = _RUN + trace.to_bytes(8, "big")
            span.span_id = (trace * SPANS + number).to_bytes(8, "big")
            span.start_time_unix_nano, span.end_time_unix_nano = _START, _END
            operation = "invoke_agent" if number == 1 else "chat"
            values = {"gen_ai.operation.name": operation, "gen_ai.request.model": "gpt-5-mini"}
            if number > 1:
                span.parent_span_id = (trace * SPANS + 1).to_bytes(8, "big")
            said = f'[{{"role":"assistant","parts":[{{"type":"text","content":"{_TEXT}"}}]}}]'
            for key, text in {**values, "gen_ai.output.messages": said}.items():
                span.attributes.add(key=key).value.string_value = text
    body: bytes = request.SerializeToString()
    return body


@dataclass
class Counts:
    """What was acknowledged, how often a request was sent again, and how long answers took."""

    spans: int = 0
    resent: int = 0
    failed: int = 0
    latencies_s: list[float] = field(default_factory=list)


class Load(threading.Thread):
    """Sends requests of 512 spans, `spans_per_s` in all, until it is told to stop."""

    def __init__(self, url: str, spans_per_s: float) -> None:
        super().__init__(daemon=True)
        self.counts = Counts()
        self._pause_s = SPANS_OF_REQUEST / spans_per_s
        self._url = f"{url}/v1/traces"
        self._ending = threading.Event()

    def run(self) -> None:
        """Send at the pace, each request until it is acknowledged."""
        body = _template()
        next_s = time.monotonic()
        with httpx.Client(timeout=30) as client:
            while not self._ending.wait(max(0.0, next_s - time.monotonic())):
                next_s += self._pause_s
                self._deliver(client, _filled(body))

    def end(self) -> None:
        """Stop after the present request."""
        self._ending.set()
        self.join(60)
        assert not self.is_alive()

    def taken_latencies_s(self) -> list[float]:
        """Return how long the answers took since this was asked last."""
        found, self.counts.latencies_s = self.counts.latencies_s, []
        return found

    def _deliver(self, client: httpx.Client, body: bytes) -> None:
        headers = {"content-type": "application/x-protobuf"}
        started_s = time.monotonic()
        while time.monotonic() - started_s < 60:
            try:
                code = client.post(self._url, content=body, headers=headers).status_code
            except httpx.TransportError:
                code = 0
            if code == 200:
                self.counts.spans += SPANS_OF_REQUEST
                self.counts.latencies_s.append(time.monotonic() - started_s)
                return
            self.counts.resent += 1
            time.sleep(1 if code else 0.1)
        self.counts.failed += 1


def _filled(template: bytes) -> bytes:
    """Return the request as one of this moment, with traces of its own."""
    now_ns = time.time_ns()
    return (
        template.replace(_RUN, now_ns.to_bytes(8, "big"))
        .replace(_START.to_bytes(8, "little"), (now_ns - _LENGTH_NS).to_bytes(8, "little"))
        .replace(_END.to_bytes(8, "little"), now_ns.to_bytes(8, "little"))
    )
