"""Importing OTLP files through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.api import Api
from tests.helpers.otlp import logs_request_of, make_log, make_span, request_of, to_json

SPANS = request_of(make_span(1), make_span(2))
LOGS = logs_request_of(make_log(1))
TRACE = "0af7651916cd43dd8448eb211c80319c"


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
        (document(SPANS) + b"\n{broken\n", "application/x-ndjson", 400, "malformed_request"),
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


def test_a_broken_line_is_named_and_nothing_of_the_file_is_stored(api: Api) -> None:
    answer = send(api, document(SPANS) + b"\n{broken\n", "application/x-ndjson")
    assert "line 2" in answer.json()["detail"]
    assert api.get("/api/traces")["items"] == []


def test_an_unknown_signal_is_refused_by_name(shared: Api) -> None:
    answer = send(shared, b"", "application/x-protobuf", signal="profiles")
    assert answer.status_code == 422
    assert "signal" in answer.json()["detail"]
