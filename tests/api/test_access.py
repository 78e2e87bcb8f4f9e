"""With keys nobody comes in without one, and each key does what its scopes say: every route."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from tests.helpers.api import Api, agent_run, running_api
from tracejury_collector.api.access import ACCESS
from tracejury_collector.keys.file import change_keys
from tracejury_collector.keys.model import SCOPES, NewKey, new_key

PROJECT = "booking"


@dataclass(frozen=True, kw_only=True)
class Locked:
    """An API with keys: one of each scope, and one of each that may have a project."""

    api: Api
    keys: dict[str, NewKey]

    @property
    def http(self) -> TestClient:
        return self.api.http

    def ask(self, route: str, key: str | None, **options: object) -> int:
        """Return the status of a request to the route with placeholders for its parameters."""
        method, _, path = route.partition(" ")
        for name in ("trace_id", "run_id", "request_id"):
            path = path.replace(f"{{{name}}}", "0" * 32)
        for name in ("session_id", "label_id", "name"):
            path = path.replace(f"{{{name}:anything}}", "nobody")
        headers = {"x-api-key": self.keys[key].secret} if key else {}
        if path.endswith("/events"):
            method = "HEAD"  # the answer to GET would go on
        method = "GET" if method == "*" else method
        return self.http.request(method, path, headers=headers, **options).status_code  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    folder = tmp_path_factory.mktemp("locked")
    now = datetime.now(UTC)
    made: dict[str, NewKey] = {name: new_key(name, [name], now) for name in SCOPES}
    bound = [scope for scope in SCOPES if scope != "admin"]
    made["bound"] = new_key("bound", bound, now, project=PROJECT)
    made["unbound"] = new_key("unbound", bound, now)
    made["expired"] = new_key("expired", ["admin"], now, expires_at=now)
    change_keys(folder / "api.duckdb.keys", lambda _: tuple(one.key for one in made.values()))
    with running_api(folder) as api:
        api.store(*agent_run(1))
        api.finish()
        yield Locked(api=api, keys=made)


def routes(api: Api) -> list[str]:
    """Return every route and mount of the application, named as in the table."""
    found = []
    for route in iter_route_contexts(api.http.app.routes):  # type: ignore[attr-defined]
        methods = set(route.methods or {"*"}) - {"HEAD"}
        found += [f"{method} {route.path}" for method in sorted(methods)]
    return found


def test_every_route_stands_in_the_table_and_nothing_else_does(locked: Locked) -> None:
    found = routes(locked.api)
    assert len(found) > 40
    assert sorted(set(found) - set(ACCESS)) == [], "say in api/access.py who may call them"
    assert sorted(set(ACCESS) - set(found)) == [], "take them out of api/access.py"


@pytest.mark.parametrize("route", ACCESS)
def test_without_a_key_that_counts_no_route_answers(locked: Locked, route: str) -> None:
    if route == "GET /healthz":
        assert locked.ask(route, None) == 200
        return
    assert locked.ask(route, None) == 401
    assert locked.ask(route, "expired") == 401
    assert locked.ask(route, None, content=b"{" * 100) == 401


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/nowhere", "/api/", "/healthz/", "//healthz", "/v1/traces"])
def test_without_a_key_nobody_learns_what_is_served(locked: Locked, method: str, path: str) -> None:
    assert locked.http.request(method, path, follow_redirects=False).status_code == 401


def test_the_refusal_says_how_to_send_a_key(locked: Locked) -> None:
    answer = locked.http.get("/api/traces")
    assert answer.headers["www-authenticate"] == 'Bearer realm="tracejury"'
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], "x-api-key" in answer.json()["remedy"]) == (
        "unauthenticated",
        True,
    )


@pytest.mark.parametrize("route", ACCESS)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_does_what_its_scope_says(locked: Locked, route: str, scope: str) -> None:
    wanted = ACCESS[route].scope
    status = locked.ask(route, scope)
    allowed = wanted is None or scope in (wanted, "admin")
    assert (status not in (401, 403)) == allowed, status
    assert status < 500


@pytest.mark.parametrize("route", ACCESS)
def test_a_key_of_a_project_is_refused_where_all_projects_are_seen(
    locked: Locked, route: str
) -> None:
    if ACCESS[route].scope == "admin":
        return
    refused = ACCESS[route].projects == "all"
    assert (locked.ask(route, "bound") == 403) == refused
    assert locked.ask(route, "unbound") != 403


def test_a_route_that_stands_in_no_table_serves_nobody(
    locked: Locked, monkeypatch: pytest.MonkeyPatch
) -> None:
    for route in ("GET /api/traces", "* /static-offline-docs", "GET /openapi.json"):
        monkeypatch.delitem(ACCESS, route)
        assert locked.ask(route, "admin") == 403


def test_every_route_tells_of_both_refusals(locked: Locked) -> None:
    document = locked.http.get(
        "/openapi.json", headers={"x-api-key": locked.keys["read"].secret}
    ).json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path not in ("/healthz", "/metrics"):
                assert {"401", "403"} <= set(operation["responses"]), (method, path)


def test_refusals_are_counted(locked: Locked) -> None:
    before = locked.api.context.keys.refusals.counts.copy()
    locked.ask("GET /api/traces", None)
    locked.ask("GET /api/traces", "ingest")
    counts = locked.api.context.keys.refusals.counts
    assert {name: counts[name] - before[name] for name in ("key", "scope")} == {
        "key": 1,
        "scope": 1,
    }


def test_a_key_of_a_project_sees_its_traces_and_no_others(locked: Locked) -> None:
    own, other, mixed = agent_run(11), agent_run(12), agent_run(13)
    locked.api.store(*[{**span, "project": PROJECT} for span in own])
    locked.api.store(*[{**span, "project": "other"} for span in other])
    locked.api.store({**mixed[0], "project": PROJECT}, {**mixed[1], "project": "other"})
    locked.api.finish()
    locked.api.store(*[{**span, "project": PROJECT} for span in agent_run(14, ended=False)])
    headers = {"x-api-key": locked.keys["bound"].secret}

    def get(path: str) -> tuple[int, Any]:
        answer = locked.http.get(path, headers=headers)
        return answer.status_code, answer.json()

    _, page = get("/api/traces")
    assert {item["trace_id"] for item in page["items"]} == {f"{11:032x}", f"{14:032x}"}
    for number, status in ((11, 200), (14, 200), (12, 404), (13, 404), (99, 404)):
        for path in (f"/api/traces/{number:032x}", f"/api/traces/{number:032x}/explain"):
            assert get(path)[0] == status, path
    assert get(f"/api/traces?project={PROJECT}")[1] == page
    assert get("/api/traces?project=other")[0] == 403
    assert get("/api/traces?where=true")[0] == 403
    assert get("/api/pass-rates")[0] == 200
    assert get("/api/pass-rates?project=other")[0] == 403
    everything = {"x-api-key": locked.keys["read"].secret}
    listed = locked.http.get("/api/traces?project=other", headers=everything).json()["items"]
    assert {item["project"] for item in listed} == {"other"}
    where = locked.http.get("/api/traces?project=other&where=true", headers=everything).json()
    assert where["items"] == listed
