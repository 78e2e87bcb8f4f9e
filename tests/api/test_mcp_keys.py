"""Assistants where keys are on: a real MCP client may do what its key may do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import pytest
from fastmcp.client.transports import StreamableHttpTransport

from tests.api.test_mcp import Assistant, assistant
from tests.helpers.api import running_api, served
from tests.helpers.projects import OTHER, OWN, fill, trace_of
from tracejury_collector.keys.file import change_keys
from tracejury_collector.keys.model import NewKey, new_key

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}
NOW = datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Locked:
    """A service with keys, and the keys."""

    url: str
    keys: dict[str, NewKey]

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": self.keys[key].secret}

    def connected(self, headers: dict[str, str]) -> StreamableHttpTransport:
        return StreamableHttpTransport(f"{self.url}/mcp", headers=headers)

    def hello(self, headers: dict[str, str]) -> httpx.Response:
        return httpx.post(f"{self.url}/mcp", json=HELLO, headers={**ACCEPT, **headers})


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    folder = tmp_path_factory.mktemp("locked")
    made = {
        "read": new_key("read", ["read"], NOW),
        "ingest": new_key("ingest", ["ingest"], NOW),
        "write": new_key("write", ["read", "write"], NOW),
        "bound": new_key("bound", ["read", "write"], NOW, project=OWN),
        "expired": new_key("expired", ["read"], NOW, expires_at=NOW),
    }
    with running_api(folder) as api:
        fill(api)
        change_keys(folder / "api.duckdb.keys", lambda _: tuple(key.key for key in made.values()))
        with served(api) as url:
            yield Locked(url=url, keys=made)


@pytest.fixture(scope="module")
def reader(locked: Locked) -> Iterator[Assistant]:
    with assistant(locked.connected(locked.headers("read"))) as found:
        yield found


@pytest.fixture(scope="module")
def bound(locked: Locked) -> Iterator[Assistant]:
    with assistant(locked.connected(locked.headers("bound"))) as found:
        yield found


@pytest.mark.parametrize(
    "headers", [{}, {"x-api-key": "tj_0"}, {"authorization": "Basic dTpw"}], ids=str
)
def test_a_client_without_a_key_that_counts_is_not_connected(
    locked: Locked, headers: dict[str, str]
) -> None:
    assert not _sees_tools(locked.connected(headers))
    answer = locked.hello(headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert locked.hello(locked.headers("expired")).status_code == 401


def _sees_tools(transport: StreamableHttpTransport) -> bool:
    """Whether a client comes to see anything; where it fails on the way is up to its library."""
    try:
        with assistant(transport) as found:
            return bool(found.tools)
    except Exception:  # noqa: BLE001
        return False


def test_a_key_comes_in_either_header(locked: Locked) -> None:
    secret = locked.keys["read"].secret
    for headers in (
        {"x-api-key": secret},
        {"authorization": f"Bearer {secret}"},
        {"authorization": f"bearer  {secret}"},
        {"authorization": "Basic dTpw", "x-api-key": secret},
    ):
        with assistant(locked.connected(headers)) as found:
            assert trace_of(OWN) in found.text("search_traces")


def test_a_key_that_reads_sees_all_projects_and_begins_nothing(reader: Assistant) -> None:
    found = reader.data("search_traces")["items"]
    assert {item["project"] for item in found} == {OWN, OTHER}
    assert reader.data("sql", query="SELECT count(*) AS n FROM traces")["rows"] == [[2]]
    judged = {"evaluators": ["no-loops"]}
    assert "scope 'write'" in reader.refused("estimate_evaluation", **judged)
    assert "scope 'write'" in reader.refused("run_evaluation", **judged, most_judgements=9)


def test_a_key_that_writes_begins_an_evaluation(locked: Locked) -> None:
    with assistant(locked.connected(locked.headers("write"))) as writer:
        run = writer.data("run_evaluation", evaluators=["no-loops"], most_judgements=10)
        assert writer.data("get_run", run_id=run["run_id"])["state"] == "running"


def test_a_key_that_only_sends_sees_nothing(locked: Locked) -> None:
    with assistant(locked.connected(locked.headers("ingest"))) as sender:
        assert "scope 'read'" in sender.refused("search_traces")
        assert "scope 'read'" in sender.refused("sql", query="SELECT 1")


def test_a_key_of_a_project_sees_that_project(bound: Assistant) -> None:
    text = bound.text("search_traces")
    assert OWN in text
    assert OTHER not in text
    assert OWN in bound.text("get_trace", trace_id=trace_of(OWN))
    assert "no trace has the id" in bound.refused("get_trace", trace_id=trace_of(OTHER))
    for tool, arguments in (
        ("sql", {"query": "SELECT * FROM traces"}),
        ("search_traces", {"where": "true"}),
        ("search_traces", {"project": OTHER}),
        ("run_evaluation", {"evaluators": ["no-loops"], "most_judgements": 9}),
    ):
        said = bound.refused(tool, **arguments)
        assert OTHER not in said
        assert OWN in said or "a key of a project" in said


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "rebound.example"}, 200),  # a page of that name has no key
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
    ],
    ids=str,
)
def test_pages_of_other_origins_are_refused_whatever_their_key(
    locked: Locked, headers: dict[str, str], status: int
) -> None:
    assert locked.hello({**locked.headers("read"), **headers}).status_code == status
    if status == 403:
        assert locked.hello(headers).status_code == 403
    else:
        assert locked.hello(headers).status_code == 401
