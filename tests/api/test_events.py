"""Live traces and live results as server-sent events."""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from tests.helpers.api import START_NS, Api, agent_run, record_result
from tests.helpers.service import eventually
from tracejury.cli import app
from tracejury_collector.api import streams
from tracejury_collector.store import events
from tracejury_collector.store.events import ResultEvents, TraceEvents, next_results, next_traces

TRACES, RESULTS = "/api/traces/events", "/api/results/events"


@dataclass(frozen=True)
class Event:
    """One event as a client sees it; a mark has no name."""

    name: str
    place: str
    data: Any


class Stream:
    """A client that follows events."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.iter_lines()
        self.place = self.read().place

    def read(self) -> Event:
        """Return the next event, or mark."""
        lines = itertools.takewhile(bool, self._lines)
        fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
        self.place = fields.get("id", "")
        return Event(fields.get("event", ""), self.place, json.loads(fields.get("data", "null")))

    def numbers(self, count: int) -> list[tuple[int, str]]:
        """Return number and status of the traces of the next events."""
        found = [self.read() for _ in range(count)]
        assert {event.name for event in found} == {"trace"}
        return [(int(e.data["trace_id"], 16), e.data["status"]) for e in found]


@contextlib.contextmanager
def following(url: str, path: str, place: str | None = None, **params: str) -> Iterator[Stream]:
    """Follow events; when this gives the stream, it has begun."""
    headers = {"last-event-id": place} if place else {}
    with httpx.stream("GET", url + path, params=params, headers=headers, timeout=10) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        stream = Stream(response)
        yield stream


def test_a_trace_is_told_when_it_begins_and_when_it_is_finished(api: Api, url: str) -> None:
    api.store(*agent_run(1))
    api.finish()
    with following(url, TRACES) as stream:
        api.store(*agent_run(2, ended=False), *agent_run(3))
        assert stream.numbers(2) == [(2, "open"), (3, "open")]
        api.finish()
        told = stream.read()
    assert told.name == "trace"
    listed = {item["trace_id"]: item for item in api.get("/api/traces")["items"]}
    assert told.data == listed[f"{3:032x}"]
    assert told.data["status"] == "complete"


def test_a_later_revision_is_told_too(api: Api, url: str) -> None:
    root, tool = agent_run(1)
    with following(url, TRACES) as stream:
        api.store(root)
        api.finish()
        while stream.read().data["status"] != "complete":
            pass
        api.store(tool)
        api.finish()
        assert stream.read().data["revision"] == 2


def test_a_client_that_comes_again_goes_on_where_it_was(api: Api, url: str) -> None:
    for number in range(1, 6):
        api.store(*agent_run(number))
        api.finish()
    api.store(*agent_run(6, ended=False))
    with following(url, TRACES, "0.0") as stream:
        told = [stream.read() for _ in range(6)]
    order = [int(event.data["trace_id"], 16) for event in told]
    assert sorted(order) == [1, 2, 3, 4, 5, 6]
    for n, event in enumerate(told[:-1], 1):
        with following(url, TRACES, event.place) as stream:
            rest = [int(stream.read().data["trace_id"], 16) for _ in told[n:]]
        assert rest == order[n:]


@pytest.mark.parametrize(
    ("params", "numbers"),
    [
        ({"service": "billing"}, [2]),
        ({"project": "default"}, [1, 2, 3]),
        ({"project": "other"}, []),
        ({"session_id": "session-1"}, [1, 3]),
        ({"where": "trace_id LIKE '%3' AND tool_calls = 1"}, [3]),
        ({"where": "tool_calls = 1", "service": "booking"}, [1, 3]),
    ],
)
def test_filters_choose_the_traces_that_are_told(
    api: Api, url: str, params: dict[str, str], numbers: list[int]
) -> None:
    api.store(*agent_run(1), *agent_run(2, service="billing"), *agent_run(3))
    api.finish()
    news = next_traces(api.context.db, (0, 0), TraceEvents(**params).checked())
    assert [int(row["trace_id"], 16) for _, row in news.rows] == numbers
    with following(url, TRACES, "0.0", **params) as stream:
        for number in numbers:
            assert int(stream.read().data["trace_id"], 16) == number


def test_results_are_told_in_the_order_of_their_commits(api: Api, url: str) -> None:
    record_result(api, decision_id="before")
    with following(url, RESULTS, evaluator="fast", verdict="fail") as stream:
        record_result(api, decision_id="d1", verdict="fail", at_ns=START_NS + 10)
        record_result(api, decision_id="d2", verdict="pass", at_ns=START_NS + 20)
        record_result(api, decision_id="d3", verdict="fail", superseded=True)
        record_result(api, decision_id="d4", verdict="fail", evaluator="right")
        record_result(api, decision_id="d5", verdict="fail", at_ns=START_NS, reason="earlier")
        told = [stream.read(), stream.read()]
    assert [event.name for event in told] == ["result", "result"]
    assert [event.data["created_at"] for event in told] == sorted(
        (event.data["created_at"] for event in told), reverse=True
    )
    assert told[1].data["reason"] == "earlier"
    listed = {item["reason"]: item for item in api.get("/api/results")["items"]}
    assert told[1].data == listed["earlier"]
    with following(url, RESULTS, told[0].place) as stream:
        assert stream.read().data["verdict"] == "pass"


def test_a_look_takes_a_bounded_page_and_goes_past_what_is_filtered_out(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "PAGE", 2)
    for n in range(5):
        record_result(api, decision_id=f"d{n}", rule="strict" if n == 4 else "default")
    place: events.Place = (0,)
    found, looks = [], 0
    while looks < 3:
        news = next_results(api.context.db, place, ResultEvents(rule="strict"))
        assert news.place > place
        assert news.more is (looks < 2)
        found += [row["decision_id"] for _, row in news.rows]
        place, looks = news.place, looks + 1
    assert found == ["d4"]
    assert next_results(api.context.db, place, ResultEvents()).rows == []


def test_traces_are_told_once_across_pages(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PAGE", 2)
    for number in range(1, 6):
        api.store(*agent_run(number))
    api.finish()
    api.store(*agent_run(6, ended=False), *agent_run(7, ended=False), *agent_run(8, ended=False))
    place: events.Place = (0, 0)
    seen: list[int] = []
    more = True
    while more:
        news = next_traces(api.context.db, place, TraceEvents())
        place, more = news.place, news.more
        seen += [int(row["trace_id"], 16) for _, row in news.rows]
    assert sorted(seen) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_stream_without_news_says_where_it_is(
    api: Api, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BEAT_S", 0.0)
    with following(url, RESULTS, rule="none") as stream:
        start = stream.place
        record_result(api)
        while (mark := stream.read()).place == start:
            assert (mark.name, mark.data) == ("", None)
        assert int(mark.place) == int(start) + 1


def test_an_id_of_the_future_means_now(api: Api, url: str) -> None:
    record_result(api, decision_id="d1")
    with following(url, RESULTS, "999999") as stream:
        record_result(api, decision_id="d2", reason="new")
        assert stream.read().data["reason"] == "new"


@pytest.mark.parametrize(
    ("path", "params", "place", "status", "named"),
    [
        (TRACES, {"where": "no_such_column"}, None, 422, "no_such_column"),
        (TRACES, {"where": "read_text('/etc/passwd') IS NOT NULL"}, None, 422, "where"),
        (TRACES, {"rule": "default"}, None, 422, "rule"),
        (RESULTS, {"verdict": "maybe"}, None, 422, "verdict"),
        (RESULTS, {}, "17.4", 400, "17.4"),
        (TRACES, {}, "17", 400, "17"),
        (TRACES, {}, "one.two", 400, "one.two"),
        (TRACES, {}, "9" * 30 + ".1", 400, "999"),
    ],
)
def test_what_cannot_be_followed_is_refused_before_the_stream_begins(
    shared: Api, path: str, params: dict[str, str], place: str | None, status: int, named: str
) -> None:
    headers = {"last-event-id": place} if place else {}
    answer = shared.http.get(path, params=params, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    assert named in answer.json()["detail"]


def test_a_condition_that_does_not_run_ends_the_stream_with_the_problem(api: Api, url: str) -> None:
    with following(url, TRACES, where="agent_name::INTEGER > 0") as stream:
        api.store(*agent_run(1))
        api.finish()
        told = stream.read()
        assert (told.name, told.data["code"]) == ("problem", "sql_refused")
        assert told.data["detail"].startswith("where: ")


def test_as_many_follow_as_may_and_those_who_leave_make_room(
    api: Api, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_STREAMS", 2)
    with following(url, TRACES), following(url, RESULTS):
        answer = httpx.get(url + RESULTS)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert "GET /api/results" in answer.json()["remedy"]
    eventually(lambda: httpx.head(url + RESULTS).status_code == 200, "there is room again")


def test_head_of_a_stream_ends(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_STREAMS", 1)
    for _ in range(3):
        answer = httpx.head(url + TRACES)
        assert answer.headers["content-type"].startswith("text/event-stream")


def test_a_client_that_takes_nothing_is_left_behind(
    api: Api, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_STREAMS", 1)
    monkeypatch.setattr(streams, "PATIENCE_S", 0.2)
    for n in range(50):
        record_result(api, decision_id=f"d{n}", reason="long " * 40_000)
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port)) as idle:
        request = f"GET {RESULTS} HTTP/1.1\r\nhost: {place.netloc}\r\nlast-event-id: 0\r\n\r\n"
        idle.sendall(request.encode())
        eventually(lambda: httpx.get(url + RESULTS).status_code == 503, "it follows")
        eventually(lambda: httpx.head(url + RESULTS).status_code == 200, "it is left behind")


def test_streams_are_counted_and_a_stream_has_answered_when_it_begins(api: Api, url: str) -> None:
    with following(url, RESULTS):
        text = httpx.get(url + "/metrics", timeout=30).text
        assert "tracejury_event_streams 1.0" in text
    eventually(lambda: STREAMED in httpx.get(url + "/metrics").text, "the stream is measured")


STREAMED = (
    'tracejury_http_request_seconds_bucket{le="0.3",method="GET",route="/api/results/events",'
    'status="200"} 1.0'
)


def test_the_command_line_tells_of_traces_until_it_is_interrupted(api: Api, url: str) -> None:
    command = [sys.executable, "-m", "tracejury.cli", "traces", "--follow", "--json", "--url", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as followed:
        assert followed.stdout is not None
        eventually(lambda: STREAMING in httpx.get(url + "/metrics").text, "it follows")
        api.store(*agent_run(1))
        told = [json.loads(followed.stdout.readline())]
        api.finish()
        told.append(json.loads(followed.stdout.readline()))
        followed.send_signal(signal.SIGINT)
        assert followed.wait(10) == 0
    assert [item["status"] for item in told] == ["open", "complete"]


STREAMING = "tracejury_event_streams 1.0"


@pytest.mark.parametrize("option", ["--since=1h", "--until=1h", "--cursor=x"])
def test_what_was_before_cannot_be_followed(option: str) -> None:
    result = CliRunner().invoke(app, ["traces", "--follow", option])
    assert result.exit_code == 2
    assert option.partition("=")[0] in result.stderr
