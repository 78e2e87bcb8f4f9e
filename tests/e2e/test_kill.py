"""Promises that outlive kill -9: acknowledged spans stay, decisions and results stand once."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.helpers.service import FAST, RunningService, eventually, running_service

ROUNDS = int(os.environ.get("TRACEJURY_KILLS", "6"))
SPANS_PER_TRACE = 4
RETRIED = {502, 503, 504}


class Sender(threading.Thread):
    """Streams small traces and keeps a ledger of what was acknowledged."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.stop = threading.Event()
        self._url = f"{url}/v1/traces"

    def run(self) -> None:
        """Send one trace after the other, resending each until it is answered."""
        with httpx.Client(timeout=10) as client:
            for number in itertools.count(1):
                if self.stop.is_set():
                    return
                self._deliver(client, f"{number:032x}", trace_request(number))

    def _deliver(self, client: httpx.Client, trace_id: str, body: bytes) -> None:
        headers = {"content-type": "application/x-protobuf"}
        deadline_s = time.monotonic() + 20
        while time.monotonic() < deadline_s:
            try:
                answer = client.post(self._url, content=body, headers=headers)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code == 200:
                self.acknowledged.append(trace_id)
                return
            if answer.status_code not in RETRIED:
                break
            time.sleep(0.1)
        self.refused.append(trace_id)


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


def pid_of(service: RunningService, name: str) -> int | None:
    child = service.children().get(name)
    return child.pid if child else None


def kill(service: RunningService, name: str) -> None:
    """Kill a process and wait until it is replaced: a child by the supervisor, which by us."""
    if name == "supervisor":
        service.process.kill()
        service.restart()
        return
    eventually(lambda: pid_of(service, name), f"{name} lives", log=service.log)
    killed = pid_of(service, name)
    assert killed
    os.kill(killed, signal.SIGKILL)
    eventually(
        lambda: pid_of(service, name) not in (None, killed),
        f"{name} is replaced",
        log=service.log,
    )


@pytest.mark.timeout(100 + 20 * ROUNDS)
def test_nothing_acknowledged_is_lost_or_doubled_over_many_kills(tmp_path: Path) -> None:
    with running_service(tmp_path, FAST) as service:
        sender = Sender(service.otlp_http)
        sender.start()
        names = itertools.cycle(["receiver-1", "store", "jury-1", "supervisor", "store"])
        for name in itertools.islice(names, ROUNDS):
            time.sleep(0.4)
            kill(service, name)
            eventually(service.is_ready, f"ready after {name} died", log=service.log)
        sender.stop.set()
        sender.join(30)
        assert sender.refused == []
        assert len(sender.acknowledged) > ROUNDS

        stored = Counter(trace for (trace,) in service.sql("SELECT trace_id FROM spans"))
        lost = [t for t in sender.acknowledged if stored[t] < SPANS_PER_TRACE]
        doubled = [t for t, count in stored.items() if count > SPANS_PER_TRACE]
        assert (lost, doubled) == ([], [])

        expected = len(stored)
        eventually(
            lambda: service.sql("SELECT count(DISTINCT target_id) FROM decisions") == [[expected]],
            "every finished trace is decided",
            log=service.log,
        )
        eventually(
            lambda: (
                service.sql(
                    "SELECT count(*) FROM decisions d LEFT JOIN scores_history s"
                    " ON s.trace_id = d.target_id AND s.revision = d.revision"
                    " WHERE d.outcome = 'selected' AND s.trace_id IS NULL"
                )
                == [[0]]
            ),
            "every selected trace is judged",
            log=service.log,
        )
        assert (
            service.sql(
                "SELECT rule, target_id, revision, count(*) FROM decisions"
                " GROUP BY ALL HAVING count(*) > 1"
            )
            == []
        )
        assert (
            service.sql(
                "SELECT evaluator, trace_id, revision, count(*) FROM scores_history"
                " GROUP BY ALL HAVING count(*) > 1"
            )
            == []
        )


def test_killing_the_supervisor_takes_its_children_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        tempfile.TemporaryDirectory() as temporary,  # short: the path of a socket has a limit
        monkeypatch.context() as patch,
    ):
        patch.setenv("TMPDIR", temporary)
        _kill_supervisor_for_good(tmp_path)
        assert os.listdir(temporary) == []


def _kill_supervisor_for_good(directory: Path) -> None:
    with running_service(directory) as service:
        children = list(service.children().values())
        os.kill(service.process.pid, signal.SIGKILL)
        eventually(
            lambda: not any(child.is_running() for child in children),
            "no child survives its supervisor",
            log=service.log,
        )


def test_a_terminated_service_answers_what_is_in_flight_and_exits(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        senders = [Sender(service.otlp_http) for _ in range(4)]
        for sender in senders:
            sender.start()
        time.sleep(0.5)
        started_s = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(15) == 0
        elapsed_s = time.monotonic() - started_s
        for sender in senders:
            sender.stop.set()
        acknowledged = {trace for sender in senders for trace in sender.acknowledged}
    assert elapsed_s < 10
    with running_service(tmp_path) as again:
        stored = {trace for (trace,) in again.sql("SELECT DISTINCT trace_id FROM spans")}
    assert acknowledged <= stored
