"""The list of sessions, and one session with its traces."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.helpers.api import SECOND_NS, START_NS, Api, served
from tests.helpers.store import span_row
from tracejury.client import Client

TOTALS = {
    "session_id", "project", "start_time", "end_time", "duration_ms", "traces", "runs",
    "span_count", "llm_calls", "tool_calls", "error_count", "traces_with_error", "input_tokens",
    "output_tokens", "total_tokens", "cost_usd", "user_id", "user_ids", "service_names",
    "agent_names", "models", "input", "output",
}  # fmt: skip
HOSTILE_IDS = [
    "a/b", "/", "//", "a/../b", "..", ".", "100%", "%2F", "it's \"quoted\"", "naïve ☃ 会话",
    "a b+c&d=e#f?g", "x" * 1000, "☃" * 1000, "'; DROP TABLE x", "null", "line\nbreak",
    "nul\0", "\\u0000", "]", "explain",
]  # fmt: skip


def chat(
    number: int, session: str | None = "s", *, at_s: float | None = None, **fields: Any
) -> list[dict[str, Any]]:
    """Return the one span of a chat trace, a second long."""
    start_ns = START_NS + int((number if at_s is None else at_s) * SECOND_NS)
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 100,
        "gen_ai.input.messages": _said("user", f"question {number}"),
        "gen_ai.output.messages": _said("assistant", f"answer {number}"),
        **({} if session is None else {"session.id": session}),
        **fields.pop("attributes", {}),
    }
    row = span_row(
        trace_id=f"{number:032x}",
        span_id=f"{number:016x}",
        attributes=json.dumps(attributes),
        start_time=start_ns,
        start_time_unix_nano=start_ns,
        end_time=start_ns + SECOND_NS,
        end_time_unix_nano=start_ns + SECOND_NS,
        **fields,
    )
    return [row]


def _said(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def ids(page: dict[str, Any]) -> list[str]:
    return [item["session_id"] for item in page["items"]]


def test_a_session_has_the_totals_of_its_traces(api: Api) -> None:
    api.store(*chat(1), *chat(2), *chat(3, None), *chat(4, "other"))
    api.finish()
    session = api.get("/api/sessions")["items"][1]
    assert set(session) == TOTALS
    assert (session["session_id"], session["project"]) == ("s", "default")
    assert (session["traces"], session["runs"], session["llm_calls"]) == (2, 2, 2)
    assert (session["input_tokens"], session["total_tokens"]) == (2000, 2200)
    assert session["cost_usd"] > 0
    assert session["duration_ms"] == 2000.0
    assert session["service_names"] == ["booking"]
    assert session["models"] == ["gpt-4o"]
    assert (session["input"], session["output"]) == ("question 1", "answer 2")


def test_a_session_shows_its_traces_in_order_of_start(api: Api) -> None:
    api.store(*chat(1, at_s=30), *chat(2, at_s=10), *chat(3, at_s=20, status="error"))
    api.finish()
    session = api.get("/api/sessions/s")
    assert set(session) == TOTALS | {
        "trace_count",
        "truncated",
        "other_projects",
        "results",
        "decisions",
        "labels",
    }
    assert [int(trace["trace_id"], 16) for trace in session["traces"]] == [2, 3, 1]
    first = session["traces"][0]
    assert (first["input"], first["output"]) == ("question 2", "answer 2")
    assert (first["total_tokens"], first["status"], first["kind"]) == (1100, "complete", "llm")
    assert first["cost_usd"] > 0
    assert [trace["has_error"] for trace in session["traces"]] == [False, True, False]
    assert (session["trace_count"], session["truncated"]) == (3, False)
    assert session["traces_with_error"] == 1


def test_the_latest_traces_are_shown_where_there_are_more_than_the_limit(api: Api) -> None:
    for number in range(1, 6):
        api.store(*chat(number))
    api.finish()
    session = api.get("/api/sessions/s", limit=2)
    assert [int(trace["trace_id"], 16) for trace in session["traces"]] == [4, 5]
    assert (session["trace_count"], session["truncated"]) == (5, True)
    assert session["total_tokens"] == 5500


def test_the_text_of_a_trace_is_cut(api: Api) -> None:
    long = _said("user", "x" * 10_000)
    api.store(*chat(1, attributes={"gen_ai.input.messages": long}))
    api.finish()
    assert len(api.get("/api/sessions")["items"][0]["input"]) == 500
    session = api.get("/api/sessions/s")
    assert len(session["traces"][0]["input"]) == len(session["input"]) == 4000


def test_sessions_come_latest_activity_first(api: Api) -> None:
    api.store(*chat(1, "a", at_s=1), *chat(2, "b", at_s=3), *chat(3, "c", at_s=2))
    api.finish()
    assert ids(api.get("/api/sessions")) == ["b", "c", "a"]
    api.store(*chat(4, "a", at_s=5))
    api.finish()
    assert ids(api.get("/api/sessions")) == ["a", "b", "c"]


def test_a_clock_that_is_ahead_holds_no_session_at_the_top(api: Api) -> None:
    api.store(*chat(1, "ahead", at_s=10**8))
    api.finish()
    api.store(*chat(2, "later", at_s=15))
    api.finish()
    assert ids(api.get("/api/sessions")) == ["later", "ahead"]


def test_pages_neither_repeat_nor_miss_a_session_while_others_go_on(api: Api) -> None:
    for number in range(1, 8):
        api.store(*chat(number, f"s{number}"))
    api.finish()
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get("/api/sessions", limit=2, **cursor)
        seen += ids(page)
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
        # A new session, one that goes on before its turn, and late spans of the next one.
        number = 100 + len(seen)
        late = span_row(trace_id=f"{5 - len(seen):032x}", span_id="f" * 16, kind="tool")
        api.store(*chat(number, f"s{number}"), *chat(2 * number, "s1"), late)
        api.finish()
    assert seen == ["s7", "s6", "s5", "s4", "s3", "s2", "s1"]


def test_a_page_looks_back_until_it_is_full(api: Api) -> None:
    rows = [row for number in range(1, 700) for row in chat(number, "long", at_s=700 + number)]
    api.store(*chat(1000, "a", at_s=1), *chat(1001, "b", at_s=2), *rows)
    api.finish()
    assert ids(api.get("/api/sessions")) == ["long", "b", "a"]
    first = api.get("/api/sessions", limit=1)
    assert ids(api.get("/api/sessions", cursor=first["next_cursor"])) == ["b", "a"]


def test_filters_choose_sessions_and_leave_their_totals_whole(api: Api) -> None:
    ada = {"user.id": "ada"}
    billing = '{"attributes":{"service.name":"billing"}}'
    api.store(
        *chat(1, "a", attributes=ada), *chat(2, "a", resource=billing),
        *chat(3, "b", project="travel"), *chat(4, "c", attributes=ada),
    )  # fmt: skip
    api.finish()
    assert ids(api.get("/api/sessions", user_id="ada")) == ["c", "a"]
    assert ids(api.get("/api/sessions", project="travel")) == ["b"]
    [session] = api.get("/api/sessions", service="billing")["items"]
    assert (session["session_id"], session["traces"]) == ("a", 2)
    assert ids(api.get("/api/sessions", user_id="ada", service="billing")) == []
    second = api.get(f"/api/traces/{2:032x}")["start_time"]
    assert ids(api.get("/api/sessions", until=second)) == ["a"]
    assert ids(api.get("/api/sessions", since=second)) == ["c", "b", "a"]
    assert ids(api.get("/api/sessions", since=second, user_id="ada")) == ["c"]
    assert ids(api.get("/api/sessions", where="traces > 1")) == ["a"]
    assert ids(api.get("/api/sessions", where="sessions.user_id = 'ada'", limit=1)) == ["c"]
    cursor = api.get("/api/sessions", where="user_id = 'ada'", limit=1)["next_cursor"]
    assert ids(api.get("/api/sessions", where="user_id = 'ada'", cursor=cursor)) == ["a"]


@pytest.mark.parametrize(
    ("params", "status", "named"),
    [
        ({"limit": 1001}, 422, "limit"),
        ({"sevice": "x"}, 422, "sevice"),
        ({"since": "yesterday"}, 400, "since"),
        ({"cursor": "page-2"}, 400, "cursor"),
        ({"where": "trace_id = 'x'"}, 422, "trace_id"),
        ({"where": "newest_seq > 1"}, 422, "newest_seq"),
        ({"where": "true) OR (true"}, 422, "where"),
        ({"where": "session_id IN (SELECT session_id FROM base.traces)"}, 422, "where"),
    ],
)
def test_wrong_parameters_are_refused_by_name_with_a_remedy(
    shared: Api, params: dict[str, str], status: int, named: str
) -> None:
    answer = shared.http.get("/api/sessions", params=params)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"]
    assert answer.json()["remedy"]


@pytest.mark.parametrize("session_id", ["nobody", "", "%00", "x" * 4000])
def test_an_unknown_session_is_a_problem(shared: Api, session_id: str) -> None:
    answer = shared.http.get(f"/api/sessions/{session_id}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not_found"
    assert answer.json()["remedy"]
    assert len(answer.content) < 1000


def test_an_id_may_hold_any_characters(api: Api) -> None:
    for number, session_id in enumerate(HOSTILE_IDS, start=1):
        api.store(*chat(number, session_id), *chat(100 + number, session_id))
    api.finish()
    assert sorted(ids(api.get("/api/sessions"))) == sorted(HOSTILE_IDS)
    with served(api) as url, Client(url) as client:
        for session_id in HOSTILE_IDS:
            assert client.session(session_id).session_id == session_id
            assert client.session(session_id).trace_count == 2
            assert len(client.traces(session_id=session_id).items) == 2


def test_the_same_id_in_two_projects_is_two_sessions(api: Api) -> None:
    api.store(*chat(1, project="x"), *chat(2, project="y"), *chat(3, project="x"))
    api.finish()
    items = api.get("/api/sessions")["items"]
    assert [(item["project"], item["traces"]) for item in items] == [("x", 2), ("y", 1)]
    latest = api.get("/api/sessions/s")
    assert (latest["project"], latest["other_projects"]) == ("x", ["y"])
    assert [int(trace["trace_id"], 16) for trace in latest["traces"]] == [1, 3]
    other = api.get("/api/sessions/s", project="y")
    assert (other["project"], other["trace_count"], other["other_projects"]) == ("y", 1, ["x"])
    answer = api.http.get(f"/api/sessions/{quote('s')}", params={"project": "z"})
    assert answer.status_code == 404
    assert "'x', 'y'" in answer.json()["remedy"]


def test_late_spans_replace_the_totals(api: Api) -> None:
    api.store(*chat(1), *chat(2))
    api.finish()
    assert api.get("/api/sessions/s")["total_tokens"] == 2200
    late = chat(3, None)[0] | {"trace_id": f"{2:032x}"}
    api.store(late)
    reopened = api.get("/api/sessions/s")
    assert (reopened["total_tokens"], reopened["traces"][1]["status"]) == (2200, "open")
    api.finish()
    session = api.get("/api/sessions/s")
    assert (session["trace_count"], session["llm_calls"], session["total_tokens"]) == (2, 3, 3300)
    assert [trace["revision"] for trace in session["traces"]] == [1, 2]


def test_late_spans_may_move_a_trace_to_another_session(api: Api) -> None:
    child = chat(1, "of the child")[0] | {"parent_span_id": f"{9:016x}"}
    api.store(child)
    api.clock.now_ns += 200 * SECOND_NS
    api.finish()
    assert ids(api.get("/api/sessions")) == ["of the child"]
    root = chat(9, "of the root", at_s=0)[0] | {"trace_id": f"{1:032x}"}
    api.store(root)
    api.finish()
    assert ids(api.get("/api/sessions")) == ["of the root"]
    assert api.http.get("/api/sessions/of%20the%20child").status_code == 404


def test_a_trace_that_is_open_joins_its_session_when_it_is_finished(api: Api) -> None:
    api.store(*chat(1))
    assert api.get("/api/sessions")["items"] == []
    api.finish()
    assert ids(api.get("/api/sessions")) == ["s"]


def test_the_client_lists_sessions(api: Api) -> None:
    api.store(*chat(1, "a"), *chat(2, "b"))
    api.finish()
    with served(api) as url, Client(url) as client:
        page = client.sessions(limit=1, since="9999d")
        assert [item.session_id for item in page.items] == ["b"]
        page = client.sessions(cursor=page.next_cursor, where="runs = 1")
        assert [(item.session_id, item.traces) for item in page.items] == [("a", 1)]
