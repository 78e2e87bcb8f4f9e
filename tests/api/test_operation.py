"""Health, metrics, the description of the API, and its errors."""

from __future__ import annotations

import dataclasses
import json
import re
import socket
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from tests.helpers.api import Api, agent_run, served
from tests.helpers.docs import DOCS
from tracejury_collector.api.app import create_app

BASE = "http://127.0.0.1:4319"


def test_health_says_what_answers_and_where_it_listens(shared: Api) -> None:
    health = shared.get("/readyz")
    assert health["status"] == "ok"
    assert health["version"] == "0.0.test"
    assert health["listen"] == {"otlp_http": "127.0.0.1:4318"}


def test_what_lives_says_nothing_but_that(shared: Api) -> None:
    assert shared.get("/healthz") == {"status": "ok"}


def test_a_service_that_is_starting_lives_and_is_not_ready(shared: Api) -> None:
    starting = dataclasses.replace(shared.context, ready=lambda: False)
    http = TestClient(create_app(starting), base_url=BASE)
    assert http.get("/healthz").status_code == 200
    answer = http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["code"] == "unavailable"
    assert answer.headers["retry-after"] == "1"


def test_metrics_count_records_by_what_became_of_them(api: Api) -> None:
    spans = agent_run(1)
    api.store(*spans)
    api.store(*spans)
    text = api.http.get("/metrics").text
    assert 'tracejury_records_total{result="received",signal="spans"} 4.0' in text
    assert 'tracejury_records_total{result="stored",signal="spans"} 2.0' in text
    assert 'tracejury_records_total{result="duplicate",signal="spans"} 2.0' in text
    assert "tracejury_open_traces 1.0" in text
    assert 'tracejury_jury_queue{lane="waiting"} 0.0' in text
    assert 'tracejury_jury_running{lane="quick"} 0.0' in text
    assert 'tracejury_jury_seconds_total{lane="query"} 0.0' in text
    api.finish()
    text = api.http.get("/metrics").text
    assert 'tracejury_traces_finished_total{completed_by="root_ended"} 1.0' in text
    assert "tracejury_open_traces 0.0" in text


def test_every_metric_stands_in_the_documentation(shared: Api) -> None:
    text = (DOCS / "api.md").read_text("utf-8")
    families = re.findall(r"^# TYPE (tracejury_\w+) (\w+)", shared.http.get("/metrics").text, re.M)
    assert len(families) >= 8
    assert [name for name, kind in families if kind != "gauge" and f"`{name}" not in text] == []
    assert [
        name for name, kind in families if f"`{name}" not in text and "created" not in name
    ] == []


def test_metrics_tell_the_latency_by_route_and_not_by_path(api: Api) -> None:
    api.http.get(f"/api/traces/{1:032x}")
    api.http.get(f"/api/traces/{2:032x}")
    api.http.get("/nowhere/at/all")
    text = api.http.get("/metrics").text
    found = re.findall(r'seconds_count\{method="GET",route="([^"]+)",status="(\d+)"\} (\S+)', text)
    assert ("/api/traces/{trace_id}", "404", "2.0") in found
    assert ("other", "404", "1.0") in found


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/api/", 404, "not_found"),
        ("DELETE", "/api/traces", 405, "method_not_allowed"),
        ("GET", "/api/traces/import", 404, "not_found"),
    ],
)
def test_a_path_that_is_not_served_is_a_problem(
    shared: Api, method: str, path: str, status: int, code: str
) -> None:
    answer = shared.http.request(method, path)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["remedy"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/rules/some", "DELETE, GET, HEAD, PUT"),
        ("/api/labels", "GET, HEAD, POST"),
        ("/api/sql", "POST"),
        ("/api/traces/import", "POST"),
        ("/api/traces/events", "GET, HEAD"),
    ],
)
def test_a_method_that_is_not_served_is_told_those_that_are(
    shared: Api, path: str, allowed: str
) -> None:
    for method in ("OPTIONS", "PATCH", "TRACE"):
        answer = shared.http.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
        assert allowed in answer.json()["remedy"]


def test_what_is_no_http_is_a_problem_too(shared: Api) -> None:
    with served(shared) as url:
        place = urlsplit(url)
        for request in ("nonsense\r\n\r\n", f"GET /?where={'x' * (70 << 10)} HTTP/1.1\r\n\r\n"):
            with socket.create_connection((place.hostname, place.port)) as connection:
                connection.sendall(request.encode())
                head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 400 ")
            assert b"content-type: application/problem+json" in head
            assert "64 KiB" in json.loads(body)["detail"]


def test_a_crash_is_a_problem_without_the_traceback(api: Api) -> None:
    api.context.db.close()
    http = TestClient(create_app(api.context), base_url=BASE, raise_server_exceptions=False)
    answer = http.get("/api/traces")
    assert answer.status_code in (500, 503)
    assert set(answer.json()) >= {"type", "title", "status", "code", "detail", "remedy"}
    assert "Traceback" not in answer.text


def test_every_route_is_described_with_its_refusals(shared: Api) -> None:
    document = shared.get("/openapi.json")
    assert document["info"]["title"] == "Tracejury"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], path
            assert operation["description"], path
            assert operation["tags"], path
            if path.startswith("/api/"):
                assert "application/problem+json" in operation["responses"]["403"]["content"]
                refusal = operation["responses"].get("422", {"content": {}})["content"]
                assert "application/json" not in refusal, (method, path)


def test_the_description_is_shown_without_asking_another_machine(shared: Api) -> None:
    page = shared.http.get("/docs").text
    sources = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert sources
    for source in sources:
        assert source.startswith("/"), source
        assert shared.http.get(source).status_code == 200


def test_every_route_stands_in_the_documentation(shared: Api) -> None:
    text = (DOCS / "api.md").read_text("utf-8")
    document = shared.get("/openapi.json")
    routes = [f"{method.upper()} {path}" for path, ms in document["paths"].items() for method in ms]
    assert len(routes) >= 9
    assert [
        route for route in [*routes, "GET /docs", "GET /openapi.json"] if route not in text
    ] == []


def test_every_parameter_stands_in_the_documentation(shared: Api) -> None:
    text = (DOCS / "api.md").read_text("utf-8")
    document = shared.get("/openapi.json")
    names = {
        parameter["name"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    }
    assert {"where", "cursor"} <= names
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []
