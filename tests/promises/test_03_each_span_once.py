"""Promise 3: however often a span is sent, over whichever way, across deaths, it is there once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from random import Random

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.helpers.failpoints import Failpoint, failpoints_in
from tests.helpers.otlp import make_span, request_of
from tests.helpers.senders import Attempt, over_http
from tests.helpers.service import eventually, running_service
from tests.helpers.stack import running_stack
from tests.helpers.transports import TRANSPORTS, client_of
from tests.promises.accounting import assert_accounts, assert_balanced, assert_kept, counted

COPIES = 3
BATCH = 512
SPANS = 1_000_000
KILL_EVERY_S = 10
POINTS = (
    "receiver.handed-over",
    "store.committing",
    "receiver.acknowledging",
    "store.committed",
    "store.answering",
)
CONFIG = "rules: {}\ncompletion: {after_root: 1h, idle: 1h}\n"  # nothing but receiving


def batch(number: int, size: int) -> ExportTraceServiceRequest:
    """Return a batch of spans that no other number has."""
    trace_id = (number + 1).to_bytes(16, "big")
    return request_of(*[make_span(n, trace_id=trace_id) for n in range(1, size + 1)])


def shuffled(count: int) -> list[int]:
    """Return the numbers of batches, each as often as it is sent, in any order."""
    found = list(range(count)) * COPIES
    Random(count).shuffle(found)
    return found


def test_what_is_sent_three_times_over_three_ways_is_stored_once(tmp_path: Path) -> None:
    batches, size = 40, 50
    requests = [batch(number, size) for number in range(batches)]
    with (
        running_stack(tmp_path) as stack,
        client_of(stack.http_url, stack.grpc_address) as client,
        ThreadPoolExecutor(6) as pool,
    ):
        ways = zip(shuffled(batches), cycle(TRANSPORTS), strict=False)
        replies = pool.map(lambda way: client.send(way[1], requests[way[0]]), ways)
        assert {(reply.code, reply.rejected) for reply in replies} == {(0, 0)}
        ids = "SELECT count(*), count(DISTINCT trace_id || span_id) FROM spans"
        assert stack.sql(ids) == [[batches * size, batches * size]]
        accounts = counted(stack.api.context.db)
        assert_balanced(accounts)
        assert accounts["spans"].stored == batches * size
        assert accounts["spans"].duplicate == (COPIES - 1) * batches * size


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_million_spans_sent_three_times_across_deaths_are_stored_once(tmp_path: Path) -> None:
    batches = -(-SPANS // BATCH)
    with failpoints_in(tmp_path / "failpoints") as points, running_service(tmp_path, CONFIG) as s:
        with ThreadPoolExecutor(5) as pool:
            order = shuffled(batches)
            lanes = [pool.submit(_send, s.otlp_http, order[n::4]) for n in range(4)]
            for name in cycle(POINTS):
                if all(lane.done() for lane in lanes):
                    break
                points.kill(s, Failpoint(name=name))
                time.sleep(KILL_EVERY_S)
            assert [lane.result() for lane in lanes] == [True] * 4
        eventually(s.is_ready, "ready again", timeout_s=60, log=s.log)
        ids = "SELECT count(*), count(DISTINCT trace_id || span_id) FROM spans"
        assert s.sql(ids) == [[batches * BATCH, batches * BATCH]]
        assert_accounts(s)
    assert_kept(s.database)


def _send(url: str, numbers: Iterable[int]) -> bool:
    """Send the batches, each until it is acknowledged; return whether all were."""
    with httpx.Client(timeout=30) as client:
        attempt = over_http(client, url)
        return all(_deliver(attempt, batch(n, BATCH).SerializeToString()) for n in numbers)


def _deliver(attempt: Attempt, body: bytes) -> bool:
    for _ in range(600):
        if (answer := attempt(body)) is not None:
            return answer
        time.sleep(0.1)
    return False
