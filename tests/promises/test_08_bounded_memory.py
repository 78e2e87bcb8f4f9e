"""Promise 8: whatever is sent, and however many connect, the memory stays bounded."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.helpers.memory import watching
from tests.helpers.otlp import field, make_span, request_of
from tests.helpers.senders import over_http, sending, wait_for_acknowledgements
from tests.helpers.service import RunningService, eventually, running_service
from tests.helpers.stack import Stack, running_stack
from tests.helpers.transports import client_of
from tests.promises.accounting import assert_accounts, assert_balanced, assert_kept, counted
from tests.promises.test_09_bombs import bomb
from tracejury_collector import http_server

MOST_BYTES = 600_000_000
MOST_BYTES_IN_A_FLOOD = 1_000_000_000
"""DuckDB's 256 MiB with what it takes beside them, 64 MiB in flight, and a body of 64 MiB twice."""
LOAD_S = 60
IDLE = 1000
HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.setattr(http_server, "_HEAD_S", 0.4)
    with running_stack(tmp_path) as stack:
        yield stack
        assert_balanced(counted(stack.api.context.db))


def connected(stack: Stack) -> socket.socket:
    return socket.create_connection(("127.0.0.1", stack.http_port), 20)


def test_a_connection_that_says_nothing_is_closed(impatient: Stack) -> None:
    with connected(impatient) as idle:
        assert _ended(idle)


def test_a_head_that_drips_is_closed_though_something_always_comes(impatient: Stack) -> None:
    with connected(impatient) as slow:
        slow.sendall(HEAD)
        with pytest.raises(ConnectionError):
            _drip(slow)


def _drip(connection: socket.socket) -> None:
    for number in range(100):
        connection.sendall(f"X-{number}: 1\r\n".encode())
        time.sleep(0.05)


def test_a_second_head_that_drips_is_closed_too(impatient: Stack) -> None:
    with connected(impatient) as slow:
        slow.sendall(HEAD + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        answer = b""
        while not answer.endswith(b"{}"):
            answer += slow.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        slow.sendall(HEAD)
        assert _ended(slow)


def test_a_connection_that_is_used_again_later_is_kept(impatient: Stack) -> None:
    with httpx.Client() as client:
        attempt = over_http(client, impatient.http_url)
        for _ in range(3):
            assert attempt(request_of(make_span(1)).SerializeToString())
            time.sleep(0.5)


def _ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_service_stays_small_under_whatever_is_sent(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        with (
            watching(service.process.pid) as watch,
            _flood(service),
            _stalling(service),
            sending(service) as senders,
            client_of(service.otlp_http, service.grpc) as client,
        ):
            until_s = time.monotonic() + LOAD_S
            while time.monotonic() < until_s:
                for body in (_empty_spans(64 << 20), _large_spans()):
                    assert client.send_body("protobuf", body).code in (0, 8, 14)
                zipped, encoding = bomb("gzip", 500_000_000)
                headers = {
                    "content-type": "application/x-protobuf",
                    "content-encoding": encoding,
                }
                assert client.post(zipped, headers).status in (413, 503)
        assert all(sender.refused == [] for sender in senders)
        told = ", ".join(f"{name}: {size / 1e6:.0f}" for name, size in watch.parts.items())
        print(f"together {watch.most_bytes / 1e6:.0f} MB at most ({told})")  # noqa: T201
        assert watch.most_bytes < MOST_BYTES_IN_A_FLOOD
        eventually(service.is_ready, "it is ready", log=service.log)
        assert_accounts(service)
    assert_kept(service.database)


def _empty_spans(size: int) -> bytes:
    return field(1, field(2, b"\x12\x00" * (size // 2 - 16)))


def _large_spans() -> bytes:
    spans = [make_span(n) for n in range(1, 9)]
    for span in spans:
        span.attributes.add(key="k").value.string_value = "x" * (2 << 20)
    body: bytes = request_of(*spans).SerializeToString()
    return body


@contextlib.contextmanager
def _flood(service: RunningService) -> Iterator[None]:
    """Send batches from many threads, as fast as they are answered."""
    ending = threading.Event()

    def send(lane: int) -> None:
        with httpx.Client(timeout=30) as client:
            attempt = over_http(client, service.otlp_http)
            for number in range(1, 1 << 30):
                if ending.is_set():
                    return
                trace_id = ((lane << 40) + number).to_bytes(16, "little")
                spans = [make_span(n, trace_id=trace_id) for n in range(1, 513)]
                attempt(request_of(*spans).SerializeToString())

    lanes = [threading.Thread(target=send, args=[n], daemon=True) for n in range(1, 9)]
    for lane in lanes:
        lane.start()
    try:
        yield
    finally:
        ending.set()
        for lane in lanes:
            lane.join(40)


@contextlib.contextmanager
def _stalling(service: RunningService) -> Iterator[None]:
    """Have the store stand still half of the time, as on a slow disk."""
    ending = threading.Event()

    def stall() -> None:
        store = service.children()["store"]
        while not ending.wait(1):
            store.suspend()
            ending.wait(1)
            store.resume()

    thread = threading.Thread(target=stall, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(10)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_thousand_idle_and_slow_connections_keep_nobody_out(tmp_path: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    with running_service(tmp_path) as service, contextlib.ExitStack() as held:
        for address in (service.otlp_http.removeprefix("http://"), service.grpc):
            host, _, port = address.rpartition(":")
            for number in range(IDLE):
                connection = held.enter_context(socket.create_connection((host, int(port)), 20))
                if number % 2:
                    connection.sendall(HEAD if address != service.grpc else b"PRI * HTTP")
        with watching(service.process.pid) as watch, sending(service) as senders:
            for _ in range(20):
                wait_for_acknowledgements(service, senders)
        assert all(sender.refused == [] for sender in senders)
        assert watch.most_bytes < MOST_BYTES
        assert_accounts(service)
    assert_kept(service.database)
