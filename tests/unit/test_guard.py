"""Who may call the API: no page of another origin, no rebound name, no oversized body."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from tracejury_collector.api.guard import BodyLimit, OriginGuard

LIMIT = 100
HERE = "127.0.0.1:4319"


async def _count(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


def _client(listen: str = HERE) -> TestClient:
    routes = [Route("/count", _count, methods=["GET", "POST", "PUT", "DELETE"])]
    app = BodyLimit(OriginGuard(Starlette(routes=routes), listen), lambda _path: LIMIT)
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
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_only_a_host_that_names_this_service_is_served(
    method: str, listen: str, host: str, status: int
) -> None:
    answer = _client(listen).request(method, "/count", headers={"host": host})
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["code"] == "host_refused"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": f"http://{HERE}"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:3000"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, 403),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_only_the_services_own_pages_are_served(
    method: str, headers: dict[str, str], status: int
) -> None:
    assert _client().request(method, "/count", headers=headers).status_code == status


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("POST", 403)])
def test_a_link_from_another_site_may_open_a_page_and_nothing_else(
    method: str, status: int
) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert _client().request(method, "/count", headers=headers).status_code == status


def test_no_answer_may_be_framed_sniffed_or_read_by_another_origin() -> None:
    headers = _client().get("/count").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(("size", "status"), [(0, 200), (LIMIT, 200), (LIMIT + 1, 413)])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused_before_the_route_sees_it(
    chunked: bool, size: int, status: int
) -> None:
    body = bytes(size)
    content = _pieces(body) if chunked else body
    answer = _client().post("/count", content=content)
    assert answer.status_code == status
    if status == 200:
        assert answer.text == str(size)
    else:
        assert answer.json()["code"] == "too_large"


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 7):
        yield body[start : start + 7]
