"""Who may call both HTTP ports: no page of another origin, no rebound name, no oversized body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from tracejury_collector.api.guard import BodyLimit, Guard
from tracejury_collector.keys.file import change_keys
from tracejury_collector.keys.model import new_key
from tracejury_collector.keys.ring import KeyRing
from tracejury_collector.origins import Hosts
from tracejury_collector.receive.http import Guard as OtlpGuard

LIMIT = 100
HERE = "127.0.0.1:4319"
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "WHATEVER"]
Port = Literal["api", "otlp_http"]
PORTS: list[Port] = ["api", "otlp_http"]


async def _count(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


def _client(
    folder: Path, port: Port = "api", listen: str = HERE, names: Sequence[str] = ()
) -> TestClient:
    keys, hosts = KeyRing(folder / "keys"), Hosts(listen, names)
    routes = [Route("/count", _count, methods=METHODS)]
    inner = Starlette(routes=routes)
    app: ASGIApp
    if port == "api":
        app = BodyLimit(Guard(inner, keys=keys, hosts=hosts, beside=[]), lambda _path: LIMIT)
    else:
        app = OtlpGuard(inner, keys=keys, hosts=hosts)
    return TestClient(app, base_url=f"http://{HERE}")


@pytest.mark.parametrize(
    ("listen", "host", "status"),
    [
        (HERE, HERE, 200),
        (HERE, "localhost:4319", 200),
        (HERE, "LOCALHOST", 200),
        (HERE, "[::1]:4319", 200),
        (HERE, "127.8.8.8:4319", 200),
        (HERE, "evil.example:4319", 403),
        (HERE, "localhost.evil.example", 403),
        (HERE, "127.0.0.1.evil.example:4319", 403),
        (HERE, "10.0.0.5:4319", 403),
        (HERE, "", 403),
        ("10.0.0.5:4319", "10.0.0.5:4319", 200),
        ("10.0.0.5:4319", "10.0.0.6:4319", 403),
        ("traces.internal:4319", "Traces.Internal:4319", 200),
        ("0.0.0.0:4319", "10.0.0.5:4319", 200),
        ("[::]:4319", "[fd00::5]:4319", 200),
        ("0.0.0.0:4319", "evil.example:4319", 403),
        ("0.0.0.0:4319", "Traces.Example.com", 200),
        ("0.0.0.0:4319", "traces.example.com:443", 200),
        ("0.0.0.0:4319", "x.traces.example.com", 403),
    ],
)
@pytest.mark.parametrize("port", PORTS)
def test_only_a_host_that_names_this_service_is_served(
    tmp_path: Path, port: Port, listen: str, host: str, status: int
) -> None:
    client = _client(tmp_path, port, listen, ["traces.example.com"])
    for method in METHODS:
        answer = client.request(method, "/count", headers={"host": host})
        assert answer.status_code == status, method
        if status == 403 and method != "HEAD":
            assert answer.json()["code"] == ("host_refused" if port == "api" else 7)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": f"http://{HERE}"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:3000"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"origin": "http://[::1"}, 403),
        ({"origin": "file://"}, 403),
        ({"origin": f"http://{HERE}.evil.example"}, 403),
        ({"origin": f"http://evil.example#@{HERE}"}, 403),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "whatever"}, 403),
    ],
)
@pytest.mark.parametrize("port", PORTS)
def test_only_the_services_own_pages_are_served(
    tmp_path: Path, port: Port, headers: dict[str, str], status: int
) -> None:
    client = _client(tmp_path, port)
    for method in METHODS:
        answer = client.request(method, "/count", headers=headers)
        assert answer.status_code == status, method
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    ("method", "status"), [("GET", 200), ("HEAD", 200), ("POST", 403), ("DELETE", 403)]
)
@pytest.mark.parametrize("port", PORTS)
def test_a_link_from_another_site_may_open_a_page_and_nothing_else(
    tmp_path: Path, port: Port, method: str, status: int
) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert _client(tmp_path, port).request(method, "/count", headers=headers).status_code == status


@pytest.mark.parametrize("port", PORTS)
def test_with_keys_a_key_is_needed_whatever_the_host_and_no_page_may_bring_one(
    tmp_path: Path, port: Port
) -> None:
    made = new_key("ci", ["admin"], datetime.now(UTC))
    change_keys(tmp_path / "keys", lambda _: (made.key,))
    client = _client(tmp_path, port)
    key = {"x-api-key": made.secret}
    evil = {"origin": "http://evil.example"}
    for method in METHODS:
        for host in (HERE, "traces.example.com"):
            named = {"host": host}
            statuses = [
                client.request(method, "/count", headers=headers).status_code
                for headers in (named, {**named, **key}, {**named, **key, **evil})
            ]
            assert statuses == [401, 200, 403], (method, host)
    assert client.get("/count").headers["www-authenticate"].startswith("Bearer")


def test_no_answer_may_be_framed_sniffed_or_read_by_another_origin(tmp_path: Path) -> None:
    headers = _client(tmp_path).get("/count").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(("size", "status"), [(0, 200), (LIMIT, 200), (LIMIT + 1, 413)])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused_before_the_route_sees_it(
    tmp_path: Path, chunked: bool, size: int, status: int
) -> None:
    body = bytes(size)
    content = _pieces(body) if chunked else body
    answer = _client(tmp_path).post("/count", content=content)
    assert answer.status_code == status
    if status == 200:
        assert answer.text == str(size)
    else:
        assert answer.json()["code"] == "too_large"


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 7):
        yield body[start : start + 7]
