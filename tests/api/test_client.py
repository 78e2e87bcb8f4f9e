"""The clients: the same calls, waited for and awaited."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, assert_type

import httpx
import pytest

from tests.helpers.api import agent_run, running_api, served
from tests.helpers.otlp import make_span, request_of, to_json
from tracejury import AsyncClient, Client
from tracejury.client.connection import Connection
from tracejury.errors import ApiError, DefinitionError, UnreachableError
from tracejury.rest import Page, Run, TraceDetail, TraceSummary

TRACES = 5


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a few finished traces."""
    with running_api(tmp_path_factory.mktemp("client")) as api:
        api.store(*(span for number in range(1, TRACES + 1) for span in agent_run(number)))
        api.finish()
        with served(api) as address:
            yield address


def awaited(ask: Callable[[AsyncClient], Coroutine[Any, Any, Any]], url: str) -> Any:
    async def asked() -> Any:
        async with AsyncClient(url) as client:
            return await ask(client)

    return asyncio.run(asked())


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("traces", (), {"limit": 2, "where": "tool_calls > 0"}),
    ("trace", (f"{1:032x}",), {}),
    ("explain", (f"{1:032x}",), {}),
    ("sessions", (), {}),
    ("session", ("session-1",), {"limit": 1}),
    ("results", (), {"superseded": True}),
    ("labels", (), {}),
    ("evaluator_types", (), {}),
    ("definitions", ("rule",), {}),
    ("definition", ("evaluator", "no-loops"), {}),
    ("pass_rates", (), {"by": ["service"]}),
    ("runs", (), {}),
    ("estimate_run", (), {"evaluators": ["no-loops"]}),
    ("dialects", (), {"unread": 1}),
]


@pytest.mark.parametrize(("name", "args", "options"), CALLS, ids=lambda value: str(value)[:20])
def test_both_clients_give_the_same(
    url: str, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    with Client(url) as client:
        waited = getattr(client, name)(*args, **options)
    found = awaited(lambda other: getattr(other, name)(*args, **options), url)
    assert _stable(found) == _stable(waited)


def _stable(answer: Any) -> Any:
    """An answer without what the clock decides."""
    if isinstance(answer, list):
        return [_stable(item) for item in answer]
    return answer.model_dump(exclude={"lines", "complete"})


def public(kind: type) -> dict[str, str]:
    """The public methods of a client, with their parameters."""
    names = [name for name in dir(kind) if not name.startswith("_")]
    made = kind("http://127.0.0.1:9")
    return {
        name: str(inspect.signature(getattr(made, name)))
        for name in names
        if callable(getattr(made, name))
    }


def test_both_clients_have_the_same_calls_with_the_same_parameters() -> None:
    waited, awaited = public(Client), public(AsyncClient)
    assert {**waited, "aclose": waited["close"]} == {**awaited, "close": awaited["aclose"]}
    assert len(waited) > 30


def test_every_call_says_what_it_gives() -> None:
    client = Client("http://127.0.0.1:9")
    assert [name for name in public(Client) if not inspect.getdoc(getattr(client, name))] == []


def test_types_are_those_of_the_definition(url: str) -> None:
    async def looked(client: AsyncClient) -> None:
        assert_type(await client.trace(f"{1:032x}"), TraceDetail)
        async for item in client.all_traces():
            assert_type(item, TraceSummary)

    with Client(url) as client:
        assert_type(client.trace(f"{1:032x}"), TraceDetail)
        assert_type(client.traces(limit=1), Page[TraceSummary])
        assert_type(client.follow_run("x"), Iterator[Run])
        for item in client.all_traces():
            assert_type(item, TraceSummary)
    awaited(looked, url)


def test_a_list_is_read_to_its_end_page_after_page(url: str) -> None:
    with Client(url) as client:
        ids = [trace.trace_id for trace in client.all_traces(limit=2)]
        first = next(iter(client.all_traces(limit=1, where="trace_id LIKE '%3'")))
        assert [trace.trace_id for trace in client.all_traces()] == ids
    assert ids == [f"{number:032x}" for number in range(TRACES, 0, -1)]
    assert first.trace_id == f"{3:032x}"


def test_a_list_is_read_to_its_end_while_it_is_awaited(url: str) -> None:
    async def ids(client: AsyncClient) -> list[str]:
        return [trace.trace_id async for trace in client.all_traces(limit=2)]

    assert len(awaited(ids, url)) == TRACES


def test_a_refusal_is_the_same_error_in_both(url: str) -> None:
    with Client(url) as client, pytest.raises(ApiError) as waited:
        client.trace("f" * 32)
    with pytest.raises(ApiError) as other:
        awaited(lambda client: client.trace("f" * 32), url)
    assert (waited.value.status, waited.value.code) == (404, "not_found")
    assert str(other.value) == str(waited.value)


def test_where_nobody_answers_both_say_what_to_start() -> None:
    nobody = "http://127.0.0.1:9"
    with Client(nobody) as client, pytest.raises(UnreachableError, match="tracejury serve"):
        client.traces()
    with pytest.raises(UnreachableError, match="tracejury serve"):
        awaited(lambda client: client.traces(), nobody)


class Script(httpx.BaseTransport):
    """Answers as written, one answer a request, and keeps the requests."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def busy(retry_after: str = "0") -> httpx.Response:
    problem = {"title": "Busy", "status": 503, "code": "unavailable", "detail": "busy"}
    return httpx.Response(503, json=problem, headers={"retry-after": retry_after})


EMPTY: dict[str, Any] = {"items": [], "next_cursor": None}
ROWS: dict[str, Any] = {"columns": [], "rows": [], "row_count": 0}


def test_what_reads_is_asked_again_while_the_service_is_busy_or_restarts() -> None:
    script = Script(busy(), httpx.ReadError("reset"), httpx.Response(200, json=EMPTY))
    with Client(transport=script) as client:
        assert client.traces().items == []
    assert len(script.requests) == 3


def test_a_query_is_asked_again_when_refused_and_not_when_it_may_have_broken_the_service() -> None:
    script = Script(busy(), httpx.Response(200, json=ROWS))
    with Client(transport=script) as client:
        assert client.sql("SELECT 1").rows == []
    script = Script(httpx.RemoteProtocolError("gone"))
    with Client(transport=script) as client, pytest.raises(UnreachableError):
        client.sql("SELECT 1")


def test_what_writes_is_never_done_twice_by_itself() -> None:
    writes: list[Callable[[Client], object]] = [
        lambda client: client.start_run(rule="r"),
        lambda client: client.define("rule", "r", {}),
        lambda client: client.delete_label("l"),
    ]
    for ask in writes:
        script = Script(busy())
        with Client(transport=script) as client, pytest.raises(ApiError) as refused:
            ask(client)
        assert (refused.value.status, refused.value.retry_after_s) == (503, 0)
        assert len(script.requests) == 1


def test_patience_ends() -> None:
    for retry_s in (0, 5):
        script = Script(busy("60"))
        with Client(transport=script, retry_s=retry_s) as client, pytest.raises(ApiError):
            client.traces()


def test_the_key_goes_with_every_request_and_shows_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJURY_API_KEY", "tj_of_the_environment")
    for given, sent in (("tj_secret\n", "tj_secret"), (None, "tj_of_the_environment")):
        script = Script(httpx.Response(200, json=EMPTY))
        with Client(transport=script, api_key=given) as client:
            client.traces()
            assert sent not in repr(vars(client))
        assert script.requests[0].headers["authorization"] == f"Bearer {sent}"
    script = Script(httpx.Response(200, json=EMPTY))
    with Client(transport=script, api_key="") as client:
        client.traces()
    assert "authorization" not in script.requests[0].headers
    with pytest.raises(DefinitionError, match="no header"):
        Client(api_key="tj_\nx")


def test_what_is_no_service_of_this_version_is_said_to_be_none() -> None:
    script = Script(httpx.Response(200, json={"hello": "world"}))
    with Client(transport=script) as client, pytest.raises(UnreachableError, match="TraceDetail"):
        client.trace("0" * 32)


def events(*texts: str) -> httpx.Response:
    headers = {"content-type": "text/event-stream"}
    return httpx.Response(200, text="".join(f"{text}\n\n" for text in texts), headers=headers)


def told(state: str) -> str:
    run = Run.model_validate(
        {"run_id": "r", "state": state, "created_at": "2026-01-01T00:00:00Z", "counts": {}}
    )
    return f"id: {state}\nevent: progress\ndata: {run.model_dump_json()}"


def test_a_stream_that_breaks_is_taken_up_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejury.client.stream._PAUSE_S", 0.0)
    script = Script(
        events(": nothing new", told("running")), httpx.ReadError("reset"), events(told("done"))
    )
    with Client(transport=script) as client:
        assert [run.state for run in client.follow_run("r")] == ["running", "done"]
    assert [r.headers.get("last-event-id") for r in script.requests] == [None, "running", "running"]


def test_what_is_followed_and_refused_is_not_asked_for_again() -> None:
    script = Script(httpx.Response(404, json={"title": "?", "status": 404, "code": "not_found"}))
    with Client(transport=script) as client, pytest.raises(ApiError):
        next(client.follow_run("r"))


def test_a_run_is_followed_while_it_is_awaited(url: str) -> None:
    async def states(client: AsyncClient) -> list[str]:
        run = await client.start_run(evaluators=["no-loops"])
        told: AsyncIterator[Run] = client.follow_run(run.run_id)
        seen: list[str] = [(await anext(told)).state]
        await client.cancel_run(run.run_id)
        return seen + [run.state async for run in told]

    seen = awaited(states, url)
    assert (seen[0], seen[-1]) == ("running", "canceled")


def test_a_call_can_be_looked_at_on_the_class() -> None:
    assert Client.traces.__doc__ == "Return one page of traces, newest first."
    assert isinstance(Client("http://127.0.0.1:9"), Connection)


def test_a_problem_ends_a_stream_with_its_error() -> None:
    problem = {"title": "?", "status": 422, "code": "invalid", "detail": "nope is no column"}
    script = Script(events("id: 1\n: x", f"event: problem\ndata: {json.dumps(problem)}"))
    with Client(transport=script) as client, pytest.raises(ApiError, match="nope is no column"):
        next(client.trace_events(where="nope"))


def test_what_is_followed_is_chosen_by_its_parameters() -> None:
    item = {"evaluator": "e", "type": "t", "outcome": "skip", "trace_id": "1", "revision": 1}
    data = json.dumps({**item, "created_at": "2026-01-01T00:00:00Z"})
    script = Script(events(f"id: 7\nevent: result\ndata: {data}"))
    with Client(transport=script) as client:
        assert next(client.result_events(rule="r", verdict=None)).evaluator == "e"
    (request,) = script.requests
    assert (request.url.path, request.url.query) == ("/api/results/events", b"rule=r")
    assert request.headers["accept"] == "text/event-stream"


def test_a_file_is_imported_once_whoever_brings_it(tmp_path: Path) -> None:
    path, sizes = tmp_path / "spans.json", list[int]()
    path.write_text(json.dumps(to_json(request_of(make_span(1), make_span(2)))))
    with running_api(tmp_path) as api, served(api) as url:
        with Client(url) as client:
            first = client.import_file(path, progress=sizes.append)
        again = awaited(lambda client: client.import_file(path), url)
    assert (first.received, first.stored, first.duplicate) == (2, 2, 0)
    assert (again.received, again.stored, again.duplicate) == (2, 0, 2)
    assert sizes == [path.stat().st_size]
