"""Senders that resend until they are answered, and keep a ledger of what was acknowledged."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator

import grpc
import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.helpers.service import RunningService, eventually

SPANS_PER_TRACE = 4
PAUSE_S = 0.01
PATIENCE_S = 60
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_RETRIED = {502, 503, 504}
_RECONNECT = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 200)]

Attempt = Callable[[bytes], bool | None]
"""Sends once; returns whether that was acknowledged, None if it may be tried again."""


def trace_request(number: int) -> bytes:
    """Return a request with one small agent trace."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    now_ns = time.time_ns()
    for index in range(SPANS_PER_TRACE):
        span = spans.add(name="invoke_agent" if index == 0 else f"step {index}")
        span.trace_id = number.to_bytes(16, "big")
        span.span_id = (number * 16 + index).to_bytes(8, "big")
        if index:
            span.parent_span_id = (number * 16).to_bytes(8, "big")
        span.start_time_unix_nano = now_ns + index
        span.end_time_unix_nano = now_ns + 1_000_000
        operation = span.attributes.add(key="gen_ai.operation.name")
        operation.value.string_value = "invoke_agent" if index == 0 else "invoke_workflow"
    body: bytes = request.SerializeToString()
    return body


class Sender(threading.Thread):
    """Sends one small trace after the other, each `copies` times, until it is told to stop."""

    def __init__(self, attempt: Attempt, first: int, *, copies: int = 1) -> None:
        super().__init__(daemon=True)
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self._ending = threading.Event()
        self._attempt = attempt
        self._first = first
        self._copies = copies

    def run(self) -> None:
        """Send, resending each until it is answered."""
        for number in itertools.count(self._first):
            if self._ending.wait(PAUSE_S):
                return
            body = trace_request(number)
            taken = [self._deliver(body) for _ in range(self._copies)]
            (self.acknowledged if all(taken) else self.refused).append(f"{number:032x}")

    def end(self) -> None:
        """Stop after the present trace."""
        self._ending.set()
        self.join(PATIENCE_S + 10)
        assert not self.is_alive()

    def _deliver(self, body: bytes) -> bool:
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            if (answer := self._attempt(body)) is not None:
                return answer
            time.sleep(0.05)
        return False


def over_http(client: httpx.Client, url: str) -> Attempt:
    """Return what sends a request over OTLP/HTTP."""
    headers = {"content-type": "application/x-protobuf"}

    def attempt(body: bytes) -> bool | None:
        try:
            code = client.post(f"{url}/v1/traces", content=body, headers=headers).status_code
        except httpx.TransportError:
            return None
        return None if code in _RETRIED else code == 200

    return attempt


def over_grpc(channel: grpc.Channel) -> Attempt:
    """Return what sends a request over OTLP/gRPC."""
    export = channel.unary_unary(EXPORT)

    def attempt(body: bytes) -> bool | None:
        try:
            export(body, timeout=10)
        except grpc.RpcError as error:
            retried = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
            return None if error.code() in retried else False
        return True

    return attempt


@contextlib.contextmanager
def sending(service: RunningService, *, copies: int = 1) -> Iterator[list[Sender]]:
    """Send over both transports inside the block; the senders have ended after it."""
    with (
        httpx.Client(timeout=10) as client,
        grpc.insecure_channel(service.grpc, _RECONNECT) as channel,
    ):
        attempts = [over_http(client, service.otlp_http), over_grpc(channel)]
        senders = [Sender(a, 1 + (n << 40), copies=copies) for n, a in enumerate(attempts)]
        for sender in senders:
            sender.start()
        try:
            yield senders
        finally:
            for sender in senders:
                sender.end()


def wait_for_acknowledgements(service: RunningService, senders: list[Sender]) -> None:
    """Wait until each sender has had another trace acknowledged."""
    before = [len(sender.acknowledged) for sender in senders]
    eventually(
        lambda: all(len(s.acknowledged) > n for s, n in zip(senders, before, strict=True)),
        "every sender is served again",
        timeout_s=60,
        log=service.log,
    )
