"""The list of traces, and one trace."""

from __future__ import annotations

import pytest

from tests.helpers.api import Api, agent_run, record_result, running_api
from tracejury_collector.store import trace_pages

DETAIL_FIELDS = {
    "trace_id", "revision", "status", "completed_by", "kind", "flags", "input_text", "output_text",
    "agent_name", "service_name", "session_id", "user_id", "start_time", "latency_ms", "has_error",
    "error_count", "usage", "cost_usd", "models", "tool_calls", "turns", "llm_calls", "messages",
    "documents", "spans", "results", "decisions",
}  # fmt: skip
TOOL_CALL_FIELDS = {
    "name", "arguments", "output", "error", "id", "latency_ms", "span_id", "source"
}  # fmt: skip
USAGE_FIELDS = {
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
    "reasoning_tokens", "total_tokens",
}  # fmt: skip


def ids(page: dict[str, list[dict[str, str]]]) -> list[int]:
    return [int(item["trace_id"], 16) for item in page["items"]]


def test_traces_come_newest_first_open_ones_too(api: Api) -> None:
    api.store(*agent_run(1), *agent_run(2))
    api.finish()
    api.store(*agent_run(3, ended=False))
    page = api.get("/api/traces")
    assert ids(page) == [3, 2, 1]
    assert [item["status"] for item in page["items"]] == ["open", "complete", "complete"]
    assert page["next_cursor"] is None
    opened, finished, _ = page["items"]
    assert opened["total_tokens"] is None
    assert opened["revision"] == 0
    assert finished["revision"] == 1
    assert finished["agent_name"] == "planner"
    assert finished["tool_calls"] == 1
    assert finished["latency_ms"] == 1000.0
    assert finished["completed_by"] == "root_ended"


def test_pages_neither_repeat_nor_miss_a_trace_while_others_arrive(api: Api) -> None:
    for number in range(1, 8):
        api.store(*agent_run(number))
    api.finish()
    seen: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get("/api/traces", limit=2, **cursor)
        seen += ids(page)
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
        api.store(*agent_run(100 + len(seen)))
        api.finish()
    assert seen == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("close_spans", [-1, 50])
def test_a_page_is_the_same_however_far_apart_its_traces_lie(
    api: Api, monkeypatch: pytest.MonkeyPatch, close_spans: int
) -> None:
    for number in range(1, 7):
        api.store(*agent_run(number, service="paying" if number % 2 else "booking"))
    api.finish()
    api.store(*agent_run(3, ended=False))
    monkeypatch.setattr(trace_pages, "_CLOSE_SPANS", close_spans)
    page = api.get("/api/traces", service="paying")
    assert ids(page) == [5, 3, 1]
    assert [item["status"] for item in page["items"]] == ["complete", "open", "complete"]
    assert all(item["start_time"] for item in page["items"])


def test_a_page_that_ends_with_the_list_has_no_cursor(api: Api) -> None:
    api.store(*agent_run(1), *agent_run(2))
    assert api.get("/api/traces", limit=2)["next_cursor"] is None


def test_filters_choose_traces(api: Api) -> None:
    api.store(*agent_run(1), *agent_run(2), *agent_run(3, service="billing"))
    api.finish()
    assert ids(api.get("/api/traces", service="billing")) == [3]
    assert ids(api.get("/api/traces", session_id="session-1")) == [3, 1]
    assert ids(api.get("/api/traces", where="trace_id LIKE '%2' AND tool_calls = 1")) == [2]
    assert ids(api.get("/api/traces", where="has_error")) == []
    assert ids(api.get("/api/traces", where="traces.latency_ms > 10", service="booking")) == [2, 1]


def test_since_and_until_bound_the_start(api: Api) -> None:
    api.store(*agent_run(1), *agent_run(2), *agent_run(3))
    api.finish()
    all_traces = api.get("/api/traces")["items"]
    second = all_traces[1]["start_time"]
    assert ids(api.get("/api/traces", since=second)) == [3, 2]
    assert ids(api.get("/api/traces", until=second)) == [1]
    assert ids(api.get("/api/traces", since=second, until=second)) == []


@pytest.mark.parametrize(
    ("params", "status", "named"),
    [
        ({"limit": 0}, 422, "limit"),
        ({"limit": 1001}, 422, "limit"),
        ({"limit": "many"}, 422, "limit"),
        ({"sevice": "x"}, 422, "sevice"),
        ({"since": "yesterday"}, 400, "since"),
        ({"until": "31.12.2026"}, 400, "until"),
        ({"cursor": "page-2"}, 400, "cursor"),
        ({"where": "no_such_column > 1"}, 422, "no_such_column"),
        ({"where": "true) OR (true"}, 422, ""),
        ({"where": "true /* "}, 422, ""),
        ({"where": "true; DROP TABLE base.spans"}, 422, ""),
        ({"where": "trace_id IN (SELECT trace_id FROM base.spans)"}, 422, ""),
        ({"where": "read_text('/etc/passwd') IS NOT NULL"}, 422, ""),
        ({"where": ""}, 422, ""),
        ({"where": "has_error OR"}, 422, ""),
        ({"where": "o.first_seen IS NOT NULL"}, 422, ""),
    ],
)
def test_wrong_parameters_are_refused_by_name_with_a_remedy(
    shared: Api, params: dict[str, str], status: int, named: str
) -> None:
    answer = shared.http.get("/api/traces", params=params)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert named in problem["detail"]
    assert problem["remedy"]


def test_a_trace_has_the_fields_of_the_contract(api: Api) -> None:
    api.store(*agent_run(1))
    api.finish()
    record_result(api)
    trace = api.get(f"/api/traces/{1:032x}")
    assert set(trace) >= DETAIL_FIELDS
    assert set(trace["usage"]) == USAGE_FIELDS
    assert set(trace["flags"]) == {"redacted", "truncated", "not_captured"}
    assert trace["status"] == "complete"
    assert trace["revision"] == 1
    assert trace["completed_by"] == "root_ended"
    assert trace["kind"] == "agent"
    assert trace["agent_name"] == "planner"
    assert trace["latency_ms"] == 1000.0
    assert [span["name"] for span in trace["spans"]] == [
        "invoke_agent planner",
        "execute_tool search",
    ]
    [call] = trace["tool_calls"]
    assert set(call) >= TOOL_CALL_FIELDS
    assert call["name"] == "search"
    assert call["arguments"] == {"q": "trains"}
    assert call["output"] == [1, 2]
    assert call["source"] == "span"
    assert [d["outcome"] for d in trace["decisions"]] == ["selected"]
    [result] = trace["results"]
    assert result["evaluator"] == "fast"
    assert result["details"] == {"latency_ms": 1000}
    assert result["superseded"] is False


def test_an_open_trace_is_rebuilt_from_what_has_arrived(api: Api) -> None:
    root, tool = agent_run(1, ended=False)
    api.store(tool)
    trace = api.get(f"/api/traces/{1:032x}")
    assert trace["status"] == "open"
    assert trace["revision"] == 0
    assert trace["completed_by"] is None
    assert [span["name"] for span in trace["spans"]] == ["execute_tool search"]
    api.store(root)
    assert len(api.get(f"/api/traces/{1:032x}")["spans"]) == 2


def test_a_reopened_trace_shows_late_spans_and_keeps_its_revision_until_finished(
    api: Api,
) -> None:
    root, tool = agent_run(1)
    api.store(root)
    api.finish()
    api.store(tool)
    trace = api.get(f"/api/traces/{1:032x}")
    assert (trace["status"], trace["revision"], len(trace["spans"])) == ("open", 1, 2)
    api.finish()
    trace = api.get(f"/api/traces/{1:032x}")
    assert (trace["status"], trace["revision"], len(trace["spans"])) == ("complete", 2, 2)
    assert {d["revision"] for d in trace["decisions"]} == {1, 2}


def test_the_id_is_found_in_upper_case_too(api: Api) -> None:
    api.store(*agent_run(0xABC))
    assert api.get(f"/api/traces/{0xABC:032X}")["trace_id"] == f"{0xABC:032x}"


@pytest.mark.parametrize("path", ["", "/explain"])
@pytest.mark.parametrize("trace_id", ["f" * 32, "nonsense", "%00", "'; DROP TABLE x", "x" * 4000])
def test_an_unknown_trace_is_a_problem(shared: Api, trace_id: str, path: str) -> None:
    answer = shared.http.get(f"/api/traces/{trace_id}{path}")
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"
    assert len(answer.content) < 1000


def test_explain_tells_the_story_in_words_and_data(api: Api) -> None:
    api.store(*agent_run(1))
    waiting = api.get(f"/api/traces/{1:032x}/explain")
    assert waiting["status"] == "open"
    assert waiting["lines"][0].startswith("not finished yet")
    api.finish()
    story = api.get(f"/api/traces/{1:032x}/explain")
    assert story["status"] == "complete"
    assert any("rule 'default'" in line for line in story["lines"])
    assert story["decisions"][0]["decided_at"].endswith("Z")


def test_a_rule_that_leaves_a_trace_out_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    rules = {"slow": {"where": "latency_ms > 99999", "evaluators": ["no-loops"]}}
    with running_api(tmp_path_factory.mktemp("rules"), rules=rules) as api:
        api.store(*agent_run(1))
        api.finish()
        [decision] = api.get(f"/api/traces/{1:032x}")["decisions"]
    assert decision["rule"] == "slow"
    assert decision["outcome"] == "filtered"


def test_a_decision_says_how_its_trace_was_drawn(tmp_path_factory: pytest.TempPathFactory) -> None:
    sample = {"rate": 0.0, "strata": {"named": {"where": "agent_name IS NOT NULL", "rate": 0.0}}}
    rules = {"few": {"sample": sample, "evaluators": ["no-loops"]}}
    with running_api(tmp_path_factory.mktemp("rules"), rules=rules) as api:
        api.store(*agent_run(1))
        api.finish()
        [decision] = api.get(f"/api/traces/{1:032x}")["decisions"]
        metrics = api.http.get("/metrics").text
    drawn = {"stratum": "named", "probability": 0.0, "sampled_by": "trace"}
    assert drawn.items() <= decision.items()
    assert (decision["outcome"], decision["upstream_probability"]) == ("sampled_out", 1.0)
    assert 'tracejury_decisions_total{outcome="sampled_out",rule="few"} 1.0' in metrics


def test_a_condition_that_fails_on_a_row_is_pointed_at(api: Api) -> None:
    api.store(*agent_run(1))
    api.finish()
    where = "tool_calls = 1\n AND CAST(name AS INTEGER) > 1"
    answer = api.http.get("/api/traces", params={"where": where})
    found = answer.json()
    assert (answer.status_code, "Conversion Error" in found["detail"]) == (422, True)
    assert (found["position"]["line"], found["position"]["character"]) == (2, 6)
