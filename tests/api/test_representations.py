"""How answers are sent: compressed, not again, or without their body."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.helpers.api import Api, agent_run, served
from tracejury_collector.api.accept import takes_gzip
from tracejury_collector.api.representations import LARGE_BYTES, SMALL_BYTES

TRACES = "/api/traces"


def raw(api: Api, path: str, **headers: str) -> Any:
    """Return an answer to a client that takes no compression unless it says so."""
    return api.http.get(path, headers={"accept-encoding": "identity", **headers})


def test_an_answer_that_the_client_has_is_not_sent_again(api: Api) -> None:
    api.store(*agent_run(1))
    api.finish()
    first = raw(api, TRACES)
    etag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"
    for known in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        again = raw(api, TRACES, **{"if-none-match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert "content-type" not in again.headers
    assert raw(api, TRACES, **{"if-none-match": '"other"'}).content == first.content
    api.store(*agent_run(2))
    changed = raw(api, TRACES, **{"if-none-match": etag})
    assert (changed.status_code, changed.headers["etag"] != etag) == (200, True)


def test_the_version_of_a_definition_is_its_etag_on_reading_too(shared: Api) -> None:
    [rule] = shared.get("/api/rules")["items"]
    answer = raw(shared, f"/api/rules/{rule['name']}")
    assert answer.headers["etag"] == f'"{rule["version"]}"'
    same = raw(shared, f"/api/rules/{rule['name']}", **{"if-none-match": answer.headers["etag"]})
    assert same.status_code == 304


def test_an_error_has_no_etag(shared: Api) -> None:
    answer = raw(shared, "/api/traces/unknown", **{"if-none-match": "*"})
    assert answer.status_code == 404
    assert "etag" not in answer.headers


def test_larger_answers_are_compressed_for_those_who_take_it(shared: Api) -> None:
    plain = raw(shared, "/openapi.json")
    assert len(plain.content) > LARGE_BYTES > SMALL_BYTES
    assert "content-encoding" not in plain.headers
    with shared.http.stream(
        "GET", "/openapi.json", headers={"accept-encoding": "br, gzip;q=0.5"}
    ) as answer:
        sent = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-length"] == str(len(sent))
    assert gzip.decompress(sent) == plain.content
    assert len(sent) < len(plain.content) / 4
    assert answer.headers["etag"] == plain.headers["etag"]
    for each in (plain, answer):
        assert "accept-encoding" in each.headers["vary"].lower()


def test_small_answers_are_sent_as_they_are(shared: Api) -> None:
    answer = raw(shared, "/healthz", **{"accept-encoding": "gzip"})
    assert "content-encoding" not in answer.headers


def test_the_answer_to_a_question_in_sql_is_compressed_and_has_no_etag(shared: Api) -> None:
    body = {"sql": "SELECT n FROM range(2000) AS numbers(n)", "limit": 2000}
    answer = shared.http.post("/api/sql", json=body, headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert set(answer.headers["vary"].lower().replace(" ", "").split(",")) == {
        "accept",
        "accept-encoding",
    }
    assert "etag" not in answer.headers
    assert answer.json()["rows"] == [[n] for n in range(2000)]


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.1", True),
        ("*", True),
        ("*;q=0, gzip", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0, *", False),
        ("gzip;q=nonsense", False),
    ],
)
def test_gzip_is_sent_only_to_those_who_take_it(header: str, taken: bool) -> None:
    assert takes_gzip(header) is taken


@pytest.fixture(scope="module")
def address(shared: Api) -> Iterator[str]:
    with served(shared) as url:
        yield url


@pytest.mark.parametrize("path", ["/healthz", TRACES, "/metrics", "/openapi.json", "/docs"])
def test_head_answers_what_get_would_without_the_body(address: str, path: str) -> None:
    with httpx.Client(base_url=address) as client:
        got, head = client.get(path), client.head(path)
        assert client.get("/healthz").status_code == 200, "the connection goes on"
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == got.headers["content-type"]


def test_head_of_what_is_unknown_is_refused_like_get(shared: Api) -> None:
    assert shared.http.head("/api/traces/unknown").status_code == 404
    assert shared.http.head("/api/labels/unknown").status_code == 405
