"""Importing OTLP files through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
import zstandard
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from tests.helpers.api import Api, agent_run
from tests.helpers.otlp import logs_request_of, make_log, make_span, request_of, to_json

FRAMES = "application/vnd.tracejury.otlp-frames"
SPANS = request_of(make_span(1), make_span(2))
LOGS = logs_request_of(make_log(1))
PARENT = b"\x07" * 8
TRACE = "0af7651916cd43dd8448eb211c80319c"


def framed(*messages: bytes) -> bytes:
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)


def document(request: Any) -> bytes:
    return json.dumps(to_json(request)).encode()


def send(api: Api, body: bytes, media_type: str, **params: str) -> Any:
    return api.http.post(
        "/api/traces/import", content=body, headers={"content-type": media_type}, params=params
    )


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (SPANS.SerializeToString(), "application/x-protobuf"),
        (SPANS.SerializeToString(), "application/octet-stream"),
        (document(SPANS), "application/json"),
        (document(SPANS), "application/json; charset=utf-8"),
        (b"\xef\xbb\xbf" + json.dumps(to_json(SPANS), indent=2).encode(), "application/json"),
        (b"\r\n".join(document(request_of(make_span(n))) for n in (1, 2)), "application/x-ndjson"),
        (b"\n".join([document(request_of(make_span(n))) for n in (1, 2)]), "application/json"),
    ],
)
def test_spans_of_a_file_are_stored_once_and_can_be_read(
    api: Api, body: bytes, media_type: str
) -> None:
    done = send(api, body, media_type)
    assert done.status_code == 200, done.text
    assert (done.json()["received"], done.json()["stored"]) == (2, 2)
    assert len(api.get(f"/api/traces/{TRACE}")["spans"]) == 2
    again = send(api, body, media_type).json()
    assert (again["received"], again["stored"], again["duplicate"]) == (2, 0, 2)


def test_logs_and_spans_may_stand_in_one_file_and_metrics_are_counted_as_rejected(
    api: Api,
) -> None:
    gauge = {"name": "g", "gauge": {"dataPoints": [{"asInt": "1"}]}}
    metrics = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [gauge]}]}]}).encode()
    body = b"\n".join([document(SPANS), document(LOGS), metrics])
    done = send(api, body, "application/x-ndjson").json()
    assert (done["received"], done["stored"], done["rejected"]) == (4, 3, 1)
    assert "metrics are not kept" in done["messages"][0]


def test_traces_without_an_ended_root_are_finished_soon_after_the_last_file(api: Api) -> None:
    def tick(seconds: float) -> int:
        api.clock.now_ns += int(seconds * 1e9)
        return api.worker.tick()

    orphan = request_of(make_span(2, parent_span_id=PARENT)).SerializeToString()
    other = request_of(make_span(3, trace_id=b"\x01" * 16, parent_span_id=PARENT))
    send(api, orphan, "application/x-protobuf")
    assert tick(2) == 0
    state = api.get(f"/api/traces/{TRACE}/explain")
    assert "imported without an ended root" in " ".join(state["lines"])
    send(api, other.SerializeToString(), "application/x-protobuf")
    assert tick(2) == 0, "files are still being imported: more may come of any trace"
    assert tick(2) == 2
    assert api.get(f"/api/traces/{TRACE}")["completed_by"] == "idle"
    send(api, orphan, "application/x-protobuf")  # again: nothing new, nothing reopened
    assert tick(200) == 0
    assert api.get(f"/api/traces/{TRACE}")["revision"] == 1


def test_a_trace_of_an_agent_at_work_waits_whatever_is_imported_of_others(api: Api) -> None:
    api.store(*agent_run(1, ended=False))
    send(api, SPANS.SerializeToString(), "application/x-protobuf")
    api.clock.now_ns += 10 * 10**9
    assert api.worker.tick() == 1
    statuses = {row["trace_id"]: row["status"] for row in api.get("/api/traces")["items"]}
    assert statuses == {TRACE: "complete", f"{1:032x}": "open"}


def test_a_protobuf_file_of_logs_is_named_as_such(api: Api) -> None:
    done = send(api, LOGS.SerializeToString(), "application/x-protobuf", signal="logs")
    assert done.json()["stored"] == 1


def test_files_of_a_form_are_all_stored(api: Api) -> None:
    files = [
        ("file", ("a.json", document(request_of(make_span(1))), "application/octet-stream")),
        (
            "file",
            ("b.pb", request_of(make_span(2)).SerializeToString(), "application/octet-stream"),
        ),
    ]
    done = api.http.post("/api/traces/import", files=files)
    assert done.status_code == 200, done.text
    assert done.json()["stored"] == 2


def test_a_form_without_a_file_is_refused(shared: Api) -> None:
    answer = shared.http.post("/api/traces/import", files={"note": (None, "text")})
    assert answer.status_code == 400
    assert "no file" in answer.json()["detail"]


def test_a_bad_span_costs_itself_and_is_reported(api: Api) -> None:
    request = request_of(make_span(1), make_span(2, trace_id=b""))
    done = send(api, request.SerializeToString(), "application/x-protobuf").json()
    assert (done["received"], done["stored"], done["rejected"]) == (2, 1, 1)
    assert done["messages"]


@pytest.mark.parametrize(
    ("body", "media_type", "status", "code"),
    [
        (b"{", "application/json", 400, "malformed_request"),
        (b"", "application/json", 400, "malformed_request"),
        (b"[]", "application/json", 400, "malformed_request"),
        (b'{"spans": []}', "application/json", 400, "malformed_request"),
        (b"{broken\n{too\n", "application/x-ndjson", 400, "malformed_request"),
        (framed(b"{", b"\xff"), FRAMES, 400, "malformed_request"),
        (b"\xff\xff\xff", "application/x-protobuf", 400, "malformed_request"),
        (b"x", "text/plain", 415, "unsupported_media_type"),
        (b"x", "", 415, "unsupported_media_type"),
        (b"not a form", "multipart/form-data; boundary=x", 400, "bad_request"),
        (b"x", "multipart/form-data", 400, "bad_request"),
    ],
)
def test_what_is_no_otlp_file_is_refused_with_a_remedy(
    shared: Api, body: bytes, media_type: str, status: int, code: str
) -> None:
    answer = send(shared, body, media_type)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["detail"]


def test_a_line_that_cannot_be_read_costs_itself_and_is_named(api: Api) -> None:
    nested = b'{"resourceSpans": {"a": 1}}'
    lines = [document(SPANS), b"{broken", b"", b"[]", nested, document(LOGS)]
    done = send(api, b"\n".join(lines), "application/x-ndjson", first="100").json()
    assert (done["stored"], done["unreadable"]) == (3, 3)
    assert [message.split(":")[0] for message in done["messages"]] == [
        "line 101",
        "line 103",
        "line 104",
    ]
    assert "resourceSpans" in done["messages"][2]


@pytest.mark.parametrize("compress", [bytes, zstandard.compress])
def test_length_prefixed_messages_are_stored_each_for_itself(api: Api, compress: Any) -> None:
    messages = [
        compress(request_of(make_span(1)).SerializeToString()),
        compress(LOGS.SerializeToString()),
        b"\xff\xff",
        compress(document(request_of(make_span(2)))),
        zstandard.compress(b"x" * 100)[:-4],
    ]
    done = send(api, framed(*messages), FRAMES).json()
    assert (done["stored"], done["unreadable"]) == (3, 2)
    assert [message.split(":")[0] for message in done["messages"]] == ["message 3", "message 5"]


def test_many_small_lines_and_messages_become_few_requests_and_a_bad_one_costs_itself(
    api: Api,
) -> None:
    requests = [request_of(make_span(n)) for n in range(1, 101)]
    odd = [b'{"resourceSpans": [{"scopeSpans": {}}]}', b'{"resourceSpans":[{"a":NaN}]}', b'{"res']
    body = b"\n".join([*map(document, requests), *odd])
    done = send(api, body, "application/x-ndjson").json()
    assert (done["stored"], done["unreadable"]) == (100, 2)
    assert [message.split(":")[0] for message in done["messages"]] == ["line 101", "line 103"]
    messages = [request.SerializeToString() for request in requests]
    done = send(api, framed(*messages, b"\x0a\x05\x0a"), FRAMES).json()
    assert (done["duplicate"], done["unreadable"]) == (100, 1)
    assert "message 101" in done["messages"][0]


def test_a_message_may_not_become_larger_than_the_limit_when_decompressed(api: Api) -> None:
    bomb = zstandard.compress(b"{" + b" " * api.context.config.limits.decompressed_bytes)
    answer = send(api, framed(bomb), FRAMES)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_what_protobuf_holds_is_seen_by_itself(api: Api) -> None:
    metrics = ExportMetricsServiceRequest()
    metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="requests")
    metric.gauge.data_points.add(as_int=1)
    for request, stored in ((SPANS, 2), (LOGS, 1), (metrics, 0)):
        done = send(api, request.SerializeToString(), "application/x-protobuf").json()
        assert done["stored"] == stored
    assert done["rejected"] == 1
    assert send(api, b"", "application/x-protobuf").json()["received"] == 0


def test_an_answer_names_the_database_that_it_is_about(api: Api) -> None:
    first, second = (send(api, b"", "application/x-protobuf").json() for _ in range(2))
    assert int(first["database"], 16) > 0
    assert first == second


def test_an_unknown_signal_is_refused_by_name(shared: Api) -> None:
    answer = send(shared, b"", "application/x-protobuf", signal="profiles")
    assert answer.status_code == 422
    assert "signal" in answer.json()["detail"]
