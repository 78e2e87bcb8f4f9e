"""Promise 7: what cannot be taken is refused so that it comes again, and nothing is lost unsaid."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.rpc.error_details_pb2 import RetryInfo

from tests.helpers.exporters import commands, start
from tests.helpers.otlp import make_span, request_of
from tests.helpers.service import RunningService, eventually, running_service
from tests.helpers.transports import TRANSPORTS, Reply, client_of
from tests.promises.accounting import assert_accounts, assert_kept

SECONDS = 60
RATE = 1500
CONFIG = (
    "rules: {}\ncompletion: {after_root: 1h, idle: 1h}\n"
    "limits: {in_flight_bytes: 400000, wait: 500ms, commit: 4s}\n"
)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_in_a_minute_of_three_times_the_load_what_is_sent_is_stored_or_said_to_be_dropped(
    tmp_path: Path,
) -> None:
    for make in commands().values():
        make()
    with running_service(tmp_path, CONFIG) as service:
        with _a_third_of_the_time(service), _answers(service) as replies:
            running = [start(name, service, SECONDS, RATE) for name in commands()]
            found = {each.name: each.result() for each in running}
        _check_replies(replies)
        eventually(service.is_ready, "it is ready", log=service.log)
        rows = service.sql("SELECT service_name, count(*) FROM spans GROUP BY ALL")
        stored = Counter[str]({row[0]: row[1] for row in rows})
        for name, said in found.items():
            print(name, said, stored[name])  # noqa: T201
            # what was given up may have been stored after all: the sender had left
            assert said.acknowledged <= stored[name] <= said.acknowledged + said.dropped
        assert sum(said.dropped for said in found.values())
        assert_accounts(service)
    assert_kept(service.database)


@contextlib.contextmanager
def _a_third_of_the_time(service: RunningService) -> Iterator[None]:
    """Let the store run a third of the time: three times what it can take is sent."""
    ending = threading.Event()

    def hold_up() -> None:
        store = service.children()["store"]
        while not ending.is_set():
            store.suspend()
            ending.wait(2)
            store.resume()
            ending.wait(1)

    thread = threading.Thread(target=hold_up, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(10)


@contextlib.contextmanager
def _answers(service: RunningService) -> Iterator[list[tuple[str, Reply]]]:
    """Send over all ways meanwhile, and keep every answer."""
    ending = threading.Event()
    found: list[tuple[str, Reply]] = []

    def ask() -> None:
        with client_of(service.otlp_http, service.grpc) as client:
            number = 0
            while not ending.is_set():
                number += 1
                for transport in TRANSPORTS:
                    request = request_of(make_span(number, name=transport))
                    found.append((transport, client.send(transport, request)))
                time.sleep(0.02)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ending.set()
        thread.join(40)


def _check_replies(replies: list[tuple[str, Reply]]) -> None:
    """Nobody was told anything but: taken, or come again in a second."""
    refused = [(transport, reply) for transport, reply in replies if reply.code]
    assert refused
    print(f"{len(refused)} of {len(replies)} refused")  # noqa: T201
    for transport, reply in refused:
        assert (reply.code, reply.status) == (14, "UNAVAILABLE" if transport == "grpc" else 503)
        standard = RetryInfo()
        assert reply.error.details or transport == "json"
        if transport == "grpc":
            assert reply.error.details[0].Unpack(standard)
            own = RetryInfo.FromString(reply.headers["google.rpc.retryinfo-bin"])
            assert own.retry_delay.seconds == standard.retry_delay.seconds == 1
        else:
            assert reply.headers["retry-after"] == "1"
