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


def test_draining_answers_what_is_in_flight_on_both_ports(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path, commit="60s") as receiver,
        grpc.insecure_channel(receiver.grpc_address) as channel,
    ):
        receiver.call(receiver.store.hold.clear)
        answers: list[Answer] = []
        posting = [post(receiver, n, answers) for n in range(1, 51)]
        calls = [export_traces(channel).future(request_of(make_span(n))) for n in range(51, 101)]
        receiver.wait_for(lambda: len(receiver.store.requests) == 100)
        receiver.drain()
        receiver.call(receiver.store.hold.set)
        for thread in posting:
            thread.join(10)
        assert [answer.status_code for answer in answers] == [200] * 50
        assert [call.result(10) for call in calls] == [ExportTraceServiceResponse()] * 50
        receiver.thread.join(10)
        assert not receiver.thread.is_alive()


def test_a_draining_receiver_refuses_new_work_with_a_delay(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path) as receiver,
        grpc.insecure_channel(receiver.grpc_address) as channel,
    ):
        receiver.call(receiver.store.hold.clear)
        answers: list[Answer] = []
        first = post(receiver, 1, answers)
        receiver.wait_for(lambda: receiver.store.requests)
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
        first.join(10)
        assert answers[0].status_code == 200


def test_a_batch_outlives_a_restart_of_the_store(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.call(receiver.store.hold.clear)
        answers: list[Answer] = []
        posting = post(receiver, 1, answers)
        receiver.wait_for(lambda: receiver.store.requests)
        receiver.call(receiver.store.stop)
        receiver.call(receiver.store.start)
        receiver.call(receiver.store.hold.set)
        posting.join(10)
        assert answers[0].status_code == 200
        assert len(receiver.store.rows()) == 2
        assert [hello["role"] for hello in receiver.store.hellos] == ["receiver", "receiver"]


def test_requests_wait_for_a_store_that_is_not_there_yet_and_give_up_in_time(
    tmp_path: Path,
) -> None:
    with running_receiver(tmp_path, commit="500ms") as receiver:
        receiver.call(receiver.store.stop)
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        assert answers[0].status_code == 503
        receiver.call(receiver.store.start)
        post(receiver, 2, answers).join(10)
        assert answers[1].status_code == 200
        receiver.wait_for(lambda: receiver.store.accounts)
        assert receiver.store.accounts["spans"]["shed"] == 1
        assert receiver.store.accounts["spans"]["shed_requests"] == 1


def test_answers_may_come_out_of_order(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        late: dict[str, Any] = {}

        def first_waits(header: dict[str, Any]) -> dict[str, Any] | None:
            if not late:
                late.update(header)
                return None
            return {"op": "appended", "id": header["id"], "stored": 1, "duplicate": 0}

        receiver.store.answer = first_waits
        answers: list[Answer] = []
        first = post(receiver, 1, answers)
        receiver.wait_for(lambda: late)
        post(receiver, 2, answers).join(10)
        assert (len(answers), first.is_alive()) == (1, True)
        receiver.call(receiver.store.stop)
        receiver.call(receiver.store.start)
        first.join(10)
        assert [answer.status_code for answer in answers] == [200, 200]


def test_what_was_shed_is_reported_when_draining(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.store.answer = fail_appends
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        assert answers[0].status_code == 503
        receiver.drain()
        receiver.thread.join(10)
        assert receiver.store.accounts["spans"] == {"rejected": 0, "shed": 1, "shed_requests": 1}


def fail_appends(header: dict[str, Any]) -> dict[str, Any]:
    """Answer like a store whose disk is full."""
    if header["op"] == "account":
        return {"op": "accounted", "id": header["id"]}
    return {"op": "failed", "id": header["id"], "error": "disk full", "retry": True}


def test_nonsense_from_the_store_only_costs_the_connection(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.wait_for(lambda: receiver.store.hellos)
        receiver.call(receiver.store.send_raw, b"\xff" * 64)
        answers: list[Answer] = []
        post(receiver, 1, answers).join(10)
        assert answers[0].status_code == 200
        assert len(receiver.store.hellos) == 2


def test_a_store_that_never_answers_does_not_keep_the_receiver_from_stopping(
    tmp_path: Path,
) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.store.answer = lambda header: None
        answers: list[Answer] = []
        waiting = post(receiver, 1, answers)
        receiver.wait_for(lambda: receiver.store.requests)
        receiver.drain()
        waiting.join(10)
        assert answers == [Answer(503, "1")]
        receiver.thread.join(10)
        assert not receiver.thread.is_alive()
