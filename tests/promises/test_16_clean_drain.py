"""Promise 16: a service that is told to stop answers what is in flight and leaves nothing open."""

from __future__ import annotations

import signal
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import grpc
import httpx
import psutil

from tests.helpers.senders import SPANS_PER_TRACE, over_grpc, over_http, trace_request
from tests.helpers.service import RunningService, eventually, running_service
from tests.promises.accounting import assert_kept

IN_FLIGHT = 100
LONGEST_S = 10


def test_all_in_flight_is_answered_and_nothing_is_left_in_the_log(tmp_path: Path) -> None:
    with (
        running_service(tmp_path) as service,
        ThreadPoolExecutor(IN_FLIGHT) as pool,
        httpx.Client(timeout=20, limits=httpx.Limits(max_connections=IN_FLIGHT)) as client,
        grpc.insecure_channel(service.grpc) as channel,
    ):
        store = service.children()["store"]
        store.suspend()
        attempts = [over_http(client, service.otlp_http), over_grpc(channel)]
        answers = [pool.submit(attempts[n % 2], trace_request(n)) for n in range(1, IN_FLIGHT + 1)]
        _wait_until_handed_over(service, answers)
        service.process.send_signal(signal.SIGTERM)
        store.resume()
        assert [answer.result(20) for answer in answers] == [True] * IN_FLIGHT
        assert service.process.wait(LONGEST_S) == 0
    assert [file.name for file in tmp_path.glob("*.wal*")] == []
    assert assert_kept(service.database)["spans"].stored == IN_FLIGHT * SPANS_PER_TRACE


def _wait_until_handed_over(service: RunningService, answers: list[Future[bool | None]]) -> None:
    """Wait until the receiver has read every request, and idles because the store does."""
    receiver = service.children()["receiver-1"]
    used: list[float] = []

    def idles() -> bool:
        times = receiver.cpu_times()
        used.append(times.user + times.system)
        return len(used) > 20 and used[-1] == used[-20]

    eventually(idles, "the receiver has read what was sent", log=service.log)
    assert not any(answer.done() for answer in answers)
    assert psutil.pid_exists(service.process.pid)
