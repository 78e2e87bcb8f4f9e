"""A key of a project sees what is of the project, and by no route anything of another one."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.helpers.api import Api, running_api
from tests.helpers.projects import (
    MIXED,
    MIXED_SESSION,
    OTHER,
    OWN,
    SESSION,
    fill,
    mix,
    spans_of,
    trace_of,
)
from tracejury_collector.api.access import ACCESS
from tracejury_collector.keys.file import change_keys
from tracejury_collector.keys.model import new_key
from tracejury_collector.store.sqlallowed import VIEWS

OTHERS_SESSION = "vault"
OTHERS_TRACE = f"{14:032x}"
SEEN = {
    "/api/traces": 1,
    "/api/sessions": 1,
    "/api/results": 2,
    "/api/results?superseded=true": 2,
    "/api/labels": 2,
}


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Two projects, and a key of one of them."""

    api: Api
    headers: dict[str, str]
    ids: dict[str, list[str]]

    def ask(self, method: str, path: str, **options: Any) -> Any:
        return self.api.http.request(method, path, headers=self.headers, **options)

    def get(self, path: str, **params: Any) -> Any:
        answer = self.ask("GET", path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bound]:
    folder = tmp_path_factory.mktemp("bound")
    settings = {
        "evaluators": {"fast": {"type": "latency-budget", "config": {"budget_ms": 1}}},
        "rules": {"all": {"evaluators": ["fast"]}},
    }
    with running_api(folder, **settings) as api:
        fill(api)
        mix(api)
        api.store(*spans_of(14, OTHER, OTHERS_SESSION))
        api.finish()
        run = api.http.post("/api/runs", json={"rule": "all", "rejudge": True}).json()
        api.driver.step()
        labels = [item["label_id"] for item in api.get("/api/labels")["items"]]
        key = new_key("bound", ["read", "write", "ingest"], datetime.now(UTC), project=OWN)
        change_keys(folder / "api.duckdb.keys", lambda _: (key.key,))
        api.context.keys._looked_s = float("-inf")
        api.http.app.state.streams.close()  # type: ignore[attr-defined]  # they end after a look
        ids = {
            "trace_id": [trace_of(OTHER), MIXED, OTHERS_TRACE],
            "session_id:anything": [SESSION, MIXED_SESSION, OTHERS_SESSION],
            "label_id:anything": labels[:1],
            "run_id": [run["run_id"]],
            "name:anything": ["all", "fast"],
            "view": sorted(VIEWS),
        }
        yield Bound(api=api, headers={"x-api-key": key.secret}, ids=ids)


QUERIES: list[dict[str, str]] = [
    {},
    {"project": OWN},
    {"project": OTHER},
    {"where": "true"},
    {"superseded": "true"},
    {"trace_id": trace_of(OTHER)},
    {"trace_id": MIXED},
    {"target_id": f"{OTHER}/{SESSION}"},
    {"session_id": OTHERS_SESSION},
    {"by": "project,service"},
]
BODIES: dict[str, Any] = {
    "POST /api/sql": {"sql": "SELECT * FROM spans"},
    "POST /api/runs": {"rule": "all", "dry_run": True},
    "POST /api/labels": {"trace_id": trace_of(OTHER), "name": "x", "value": True},
}


def paths(bound: Bound, route: str) -> Iterator[str]:
    """Yield the route's paths with every id that something of the other project has."""
    path = route.partition(" ")[2]
    names = [name for name in bound.ids if f"{{{name}}}" in path]
    for values in product(*(bound.ids[name] for name in names)):
        filled = path
        for name, value in zip(names, values, strict=True):
            filled = filled.replace(f"{{{name}}}", value)
        yield filled


def said(answer: Any) -> str:
    """Return everything that an answer says, without what was asked."""
    if "parquet" in answer.headers.get("content-type", ""):
        table = pq.read_table(io.BytesIO(answer.content))
        return str(duckdb.from_arrow(table).fetchall())
    text = f"{answer.text} {answer.headers}"
    asked = [*answer.request.url.params.values(), *answer.request.url.path.split("/")]
    for value in asked:
        text = text.replace(value, "") if len(value) > 3 else text
    return text


@pytest.mark.parametrize(
    "route", [r for r, a in ACCESS.items() if a.projects != "none" and a.scope != "admin"]
)
def test_no_route_tells_a_key_of_a_project_of_another_one(bound: Bound, route: str) -> None:
    method = route.partition(" ")[0].replace("*", "GET")
    headers = {"last-event-id": "0" if "results" in route else "0.0"}
    for path, query in product(paths(bound, route), QUERIES):
        answer = bound.api.http.request(
            method,
            path,
            params=query,
            json=BODIES.get(route),
            headers={**bound.headers, **(headers if path.endswith("/events") else {})},
        )
        found = said(answer)
        for secret in (OTHER, MIXED, trace_of(OTHER), OTHERS_TRACE, OTHERS_SESSION):
            assert secret not in found, (answer.request.url, secret, found)


@pytest.mark.parametrize(("path", "count"), SEEN.items())
def test_lists_hold_what_is_of_the_project(bound: Bound, path: str, count: int) -> None:
    assert len(bound.get(path)["items"]) == count
    for item in bound.get(path)["items"]:
        assert OWN in str(item)


def test_one_of_each_is_shown_whole(bound: Bound) -> None:
    session = bound.get(f"/api/sessions/{SESSION}")
    assert (session["project"], session["trace_count"]) == (OWN, 1)
    assert session["other_projects"] == []
    assert len(session["results"]) == 1
    assert len(session["labels"]) == 1
    assert bound.get(f"/api/sessions/{SESSION}/explain")["project"] == OWN
    assert len(bound.get(f"/api/traces/{trace_of(OWN)}")["labels"]) == 1


@pytest.mark.parametrize("session", [MIXED_SESSION, OTHERS_SESSION, "nobody"])
@pytest.mark.parametrize("path", ["", "/explain"])
def test_a_session_that_is_not_of_the_project_alone_is_like_one_that_is_not(
    bound: Bound, session: str, path: str
) -> None:
    answer = bound.ask("GET", f"/api/sessions/{session}{path}")
    unknown = bound.ask("GET", f"/api/sessions/nobody{path}")
    assert answer.status_code == unknown.status_code == 404
    assert answer.json()["detail"].replace(session, "") == unknown.json()["detail"].replace(
        "nobody", ""
    )


def test_live_traces_and_results_of_the_project_are_told(bound: Bound) -> None:
    for path, place, count in (("traces", "0.0", 1), ("results", "0", 2)):
        headers = {**bound.headers, "last-event-id": place}
        text = bound.api.http.get(f"/api/{path}/events", headers=headers).text
        assert text.count("event: ") == count, text


@pytest.mark.parametrize(
    ("view", "rows"),
    {"spans": 2, "traces": 1, "tool_calls": 1, "scores": 1, "decisions": 2, "labels": 2}.items(),
)
def test_an_export_holds_what_is_of_the_project(bound: Bound, view: str, rows: int) -> None:
    answer = bound.ask("GET", f"/api/export/{view}.parquet")
    assert pq.read_table(io.BytesIO(answer.content)).num_rows == rows


def test_what_cannot_be_told_by_project_is_not_exported(bound: Bound) -> None:
    answer = bound.ask("GET", "/api/export/audit.parquet")
    assert answer.status_code == 403
    assert "exports decisions, documents" in answer.json()["remedy"]
