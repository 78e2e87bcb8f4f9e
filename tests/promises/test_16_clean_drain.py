"""Promise 16: a service that is told to stop stores what it answered and leaves nothing open."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import httpx

from tests.helpers.senders import SPANS_PER_TRACE, over_grpc, over_http, trace_request
from tests.helpers.service import running_service
from tests.promises.accounting import assert_kept

IN_FLIGHT = 100
LONGEST_S = 10


def test_all_that_was_answered_is_stored_and_nothing_is_left_in_the_logs(tmp_path: Path) -> None:
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
        assert [answer.result(20) for answer in answers] == [True] * IN_FLIGHT
        service.process.send_signal(signal.SIGTERM)
        store.resume()
        assert service.process.wait(LONGEST_S) == 0
    assert [file.name for file in tmp_path.glob("*.wal*")] == []
    assert list(Path(f"{service.database}.journal").iterdir()) == []
    assert assert_kept(service.database)["spans"].stored == IN_FLIGHT * SPANS_PER_TRACE
