"""Stopping, and living through restarts of the store, without losing an answer."""

from __future__ import annotations

import http.client
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.helpers.otlp import encoded, export_traces, make_span, request_of
from tests.helpers.receiver import RunningReceiver, running_receiver
from tracejury_collector.files import folder_bytes

PROTOBUF = {"content-type": "application/x-protobuf"}


@dataclass
class Answer:
    """What came back for a request."""

    status_code: int
    retry_after: str | None


def post(receiver: RunningReceiver, number: int, answers: list[Answer]) -> threading.Thread:
    """Post one span in a thread; its answer goes into `answers`."""

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", receiver.http_port, timeout=30)
        body = encoded(request_of(make_span(number)), "protobuf")
        connection.request("POST", "/v1/traces", body, PROTOBUF)
        with connection.getresponse() as response:
            answers.append(Answer(response.status, response.headers["retry-after"]))
        connection.close()

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_draining_brings_what_was_acknowledged_to_the_store_on_both_ports(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path) as receiver,
        grpc.insecure_channel(receiver.grpc_address) as channel,
    ):
        receiver.call(receiver.store.hold.clear)
        answers: list[Answer] = []
        posting = [post(receiver, n, answers) for n in range(1, 51)]
        calls = [export_traces(channel).future(request_of(make_span(n))) for n in range(51, 101)]
        for thread in posting:
            thread.join(10)
        assert [answer.status_code for answer in answers] == [200] * 50
        assert [call.result(10) for call in calls] == [ExportTraceServiceResponse()] * 50
        receiver.drain()
        receiver.call(receiver.store.hold.set)
        receiver.thread.join(10)
        assert not receiver.thread.is_alive()
        names = sorted(int(row["name"].split()[1]) for row in receiver.store.rows())
        assert names == [*range(1, 101)]
        assert list(receiver.journal.iterdir()) == []


def test_a_draining_receiver_refuses_new_work_with_a_delay(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path) as receiver,
        grpc.insecure_channel(receiver.grpc_address) as channel,
    ):
        receiver.call(receiver.store.hold.clear)
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        receiver.drain()
        time.sleep(0.1)
        refused: list[Answer] = []
        post(receiver, 2, refused).join(10)
        assert refused == [Answer(503, "1")]
        with pytest.raises(grpc.RpcError) as caught:
            export_traces(channel)(request_of(make_span()))
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
        keys = {item.key for item in caught.value.trailing_metadata()}
        assert {"grpc-status-details-bin", "google.rpc.retryinfo-bin"} <= keys
        receiver.call(receiver.store.hold.set)
        assert answers[0].status_code == 200


def test_a_batch_outlives_a_restart_of_the_store(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.call(receiver.store.hold.clear)
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        receiver.wait_for(lambda: receiver.store.requests)
        receiver.call(receiver.store.stop)
        receiver.call(receiver.store.start)
        receiver.call(receiver.store.hold.set)
        assert answers[0].status_code == 200
        assert len(receiver.rows()) == 2
        assert [hello["role"] for hello in receiver.store.hellos] == ["receiver", "receiver"]


def test_requests_are_taken_while_the_store_is_away_until_there_is_no_room(tmp_path: Path) -> None:
    with running_receiver(tmp_path, in_flight_bytes=10, wait="100ms") as receiver:
        receiver.call(receiver.store.stop)
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        post(receiver, 2, answers).join(10)
        assert answers == [Answer(200, None), Answer(503, "1")]
        receiver.call(receiver.store.start)
        assert [row["name"] for row in receiver.rows()] == ["span 1"]
        post(receiver, 2, answers).join(10)
        assert answers[2].status_code == 200
        receiver.wait_for(lambda: receiver.store.accounts)
        assert receiver.store.accounts["spans"]["shed_requests"] == 1


def test_what_was_shed_is_reported_when_draining(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.journal.write_bytes(b"")
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        assert answers[0].status_code == 503
        receiver.drain()
        receiver.thread.join(10)
        assert receiver.store.accounts["spans"] == {"rejected": 0, "shed": 1, "shed_requests": 1}


def test_a_store_that_cannot_take_it_is_asked_again_until_it_can(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        answer = receiver.store.answer
        refusals: list[str] = []

        def full_at_first(header: dict[str, Any]) -> dict[str, Any] | None:
            if len(refusals) == 3:
                return answer(header)
            refusals.append(header["op"])
            return {"op": "failed", "id": header["id"], "error": "disk full", "retry": True}

        receiver.store.answer = full_at_first
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        assert answers[0].status_code == 200
        assert len(receiver.rows()) == 4


def test_nonsense_from_the_store_only_costs_the_connection(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.wait_for(lambda: receiver.store.hellos)
        receiver.call(receiver.store.send_raw, b"\xff" * 64)
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        assert answers[0].status_code == 200
        assert receiver.rows()
        assert len(receiver.store.hellos) == 2


def test_a_store_that_never_answers_does_not_keep_the_receiver_from_stopping(
    tmp_path: Path,
) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.store.answer = lambda header: None
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        receiver.drain()
        receiver.thread.join(10)
        assert not receiver.thread.is_alive()
        assert folder_bytes(receiver.journal)
    with running_receiver(tmp_path) as successor:
        assert [row["name"] for row in successor.rows()] == ["span 1"]
