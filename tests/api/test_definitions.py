"""Rules and evaluators over the API: added, changed, removed, refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.api import Api, agent_run, running_api

FAST: dict[str, Any] = {"type": "latency-budget", "config": {"budget_ms": 5000}}
SLOW: dict[str, Any] = {"type": "latency-budget", "config": {"budget_ms": 9000}}
SETTINGS: dict[str, Any] = {
    "evaluators": {"ours": FAST},
    "rules": {"production": {"evaluators": ["ours"]}},
}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    """The API over a configuration with one rule and one evaluator."""
    with running_api(tmp_path, **SETTINGS) as running:
        yield running


def put(api: Api, path: str, body: Any, status: int, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return answered(api.http.put(f"/api/{path}", json=body, headers=named), status)


def answered(answer: Any, status: int) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def outcomes(api: Api, number: int) -> dict[str, str]:
    """Store and finish a run; return what each rule decided on it."""
    api.store(*agent_run(number))
    api.finish()
    shown = api.get(f"/api/traces/{number:032x}")
    return {d["rule"]: d["outcome"] for d in shown["decisions"]}


def test_a_rule_decides_on_what_is_finished_from_then_on(api: Api) -> None:
    assert outcomes(api, 1) == {"production": "selected"}
    put(api, "evaluators/fast", SLOW, 201)
    rule = put(api, "rules/all", {"evaluators": ["fast", "no-loops"]}, 201)
    assert outcomes(api, 2) == {"production": "selected", "all": "selected"}
    put(api, "rules/all", {"evaluators": ["fast"], "sample": {"rate": 0}}, 200)
    assert outcomes(api, 3) == {"production": "selected", "all": "sampled_out"}
    answered(api.http.delete("/api/rules/all"), 204)
    assert outcomes(api, 4) == {"production": "selected"}
    assert outcomes(api, 1) == {"production": "selected"}
    assert rule["fingerprint"]
    assert rule["source"] == "api"
    assert rule["editable"]


def test_what_is_put_is_what_is_got_and_listed(api: Api) -> None:
    put(api, "evaluators/fast", SLOW, 201)
    shown = api.get("/api/evaluators/fast")
    assert shown["body"] == SLOW
    listed = api.get("/api/evaluators")["items"]
    assert shown in listed
    assert [item["name"] for item in listed] == sorted(item["name"] for item in listed)
    assert {item["name"]: item["source"] for item in listed} == {
        "defined-tools": "default",
        "fast": "api",
        "no-loops": "default",
        "no-tool-errors": "default",
        "non-empty-output": "default",
        "ours": "file",
    }
    assert put(api, "evaluators/fast", shown["body"], 200) == shown
    question = "SELECT count(*) FROM definitions WHERE name = 'fast'"
    assert api.http.post("/api/sql", json={"sql": question}).json()["rows"] == [[1]]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("rules/production", {"evaluators": ["no-loops"]}),
        ("evaluators/ours", SLOW),
        ("evaluators/no-loops", SLOW),
    ],
)
def test_what_the_configuration_defines_is_shown_and_cannot_be_changed(
    api: Api, path: str, body: dict[str, Any]
) -> None:
    before = api.get(f"/api/{path}")
    assert not before["editable"]
    refused = put(api, path, body, 409)
    assert refused["code"] == "conflict"
    assert refused["remedy"]
    assert answered(api.http.delete(f"/api/{path}"), 409)["code"] == "conflict"
    assert api.get(f"/api/{path}") == before


def test_the_default_rule_gives_way_to_the_api_and_comes_back(tmp_path: Path) -> None:
    with running_api(tmp_path) as api:
        assert api.get("/api/rules/default")["source"] == "default"
        assert answered(api.http.delete("/api/rules/default"), 409)["remedy"]
        put(api, "rules/default", {"evaluators": ["no-loops"]}, 200)
        assert api.get("/api/rules/default")["source"] == "api"
        answered(api.http.delete("/api/rules/default"), 204)
        assert api.get("/api/rules/default")["source"] == "default"
        sources = "SELECT source FROM definitions WHERE name = 'default' ORDER BY effective_from"
        rows = api.http.post("/api/sql", json={"sql": sources}).json()["rows"]
        assert rows == [["default"], ["api"], ["default"]]


@pytest.mark.parametrize(
    ("path", "body", "field", "message"),
    [
        ("rules/x", {"evaluators": ["fats"]}, "evaluators", "no evaluator is named 'fats'"),
        ("rules/x", {"evaluators": []}, "evaluators", "at least 1"),
        ("rules/x", {}, "evaluators", "Field required"),
        ("rules/x", {"evaluators": ["ours"], "were": "true"}, "were", "did you mean 'where'?"),
        ("rules/x", {"evaluators": ["ours"], "sample": {"rate": 2}}, "sample.rate", "less than"),
        ("rules/x", {"evaluators": ["ours"], "where": "nonsense"}, "where", "nonsense"),
        ("rules/x", {"evaluators": ["ours"], "where": "1"}, "where", "not true or false"),
        (
            "rules/x",
            {"evaluators": ["ours"], "where": "(SELECT count(*) FROM read_csv('/etc/passwd')) > 0"},
            "where",
            "cannot be used",
        ),
        ("evaluators/x", {"type": "latency-bugdet"}, "body", "did you mean 'latency-budget'"),
        ("evaluators/x", {"type": "latency-budget", "config": {"budget": 1}}, "config", "budget"),
        (
            "evaluators/x",
            {"type": "no-loops", "criteria": {"a": 1}},
            "criteria.a",
            "unknown field",
        ),
        ("evaluators/x", {"type": "no-loops", "timeout": "soon"}, "timeout", "not a quantity"),
        (
            "evaluators/x",
            {"type": "composite", "config": {"members": ["nobody"]}},
            "body",
            "no evaluator is named 'nobody'",
        ),
        (
            "evaluators/x",
            {"type": "composite", "config": {"members": ["x"]}},
            "body",
            "composites hold each other",
        ),
        (
            "evaluators/x",
            {"type": "sql", "config": {"sql": "SELECT 1 AS score"}},
            "config.sql",
            "trace_id",
        ),
        ("rules/r", {"evaluators": ["ours"], "kind": ["llm"]}, "kind", "did you mean 'kinds'?"),
        (
            "rules/r",
            {"evaluators": ["ours"], "sample": {"rat": 1}},
            "sample.rat",
            "did you mean 'rate'?",
        ),
        (
            "rules/r",
            {
                "evaluators": ["ours"],
                "sample": {"strata": {"a": {"where": "true", "rate": 1, "rat": 1}}},
            },
            "sample.strata.a.rat",
            "did you mean 'rate'?",
        ),
        ("evaluators/x", {**FAST, "zzz": 1}, "zzz", "unknown setting; known: "),
        ("evaluators/%F0%9F%8C%A7", FAST, "name", "cannot be used"),
        ("evaluators/a b", FAST, "name", "cannot be used"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(
    api: Api, path: str, body: dict[str, Any], field: str, message: str
) -> None:
    refused = put(api, path, body, 422)
    error = refused["errors"][0]
    assert error["field"].startswith(field), refused
    assert message in f"{error['message']} {refused['remedy']} {error['field']}", refused
    assert {item["name"] for item in api.get("/api/rules")["items"]} == {"production"}
    assert api.http.get(f"/api/{path}").status_code == 404


def test_two_names_of_one_evaluator_cannot_judge_for_one_rule(api: Api) -> None:
    put(api, "evaluators/twin", FAST, 201)
    refused = put(api, "rules/x", {"evaluators": ["ours", "twin"]}, 422)
    assert "the same evaluator" in refused["detail"]
    put(api, "evaluators/twin", SLOW, 200)
    put(api, "rules/x", {"evaluators": ["ours", "twin"]}, 201)
    assert "the same evaluator" in put(api, "evaluators/twin", FAST, 422)["detail"]
    assert api.get("/api/evaluators/twin")["body"] == SLOW


def test_an_evaluator_in_use_cannot_be_removed(api: Api) -> None:
    put(api, "evaluators/fast", SLOW, 201)
    put(api, "evaluators/both", composite("fast", "no-loops"), 201)
    put(api, "rules/x", {"evaluators": ["both", "fast"]}, 201)
    refused = answered(api.http.delete("/api/evaluators/fast"), 409)
    assert "rule 'x', evaluator 'both'" in refused["detail"]
    answered(api.http.delete("/api/rules/x"), 204)
    answered(api.http.delete("/api/evaluators/both"), 204)
    answered(api.http.delete("/api/evaluators/fast"), 204)
    assert answered(api.http.delete("/api/evaluators/fast"), 404)["remedy"]


def test_a_changed_member_makes_another_evaluator_of_its_composite(api: Api) -> None:
    put(api, "evaluators/fast", SLOW, 201)
    before = put(api, "evaluators/both", composite("fast", "no-loops"), 201)
    put(api, "rules/x", {"evaluators": ["both"]}, 201)
    rule = api.get("/api/rules/x")
    put(api, "evaluators/fast", {**SLOW, "config": {"budget_ms": 1}}, 200)
    after = api.get("/api/evaluators/both")
    assert after["body"] == before["body"]
    assert after["fingerprint"] != before["fingerprint"]
    assert after["version"] != before["version"]
    assert api.get("/api/rules/x")["fingerprint"] != rule["fingerprint"]


def composite(*members: str) -> dict[str, Any]:
    return {"type": "composite", "config": {"members": list(members)}}


def test_a_version_that_is_not_expected_is_not_changed(api: Api) -> None:
    first = api.http.put("/api/evaluators/fast", json=SLOW)
    tag = first.headers["etag"]
    assert api.http.get("/api/evaluators/fast").headers["etag"] == tag
    assert tag == f'"{first.json()["version"]}"'
    put(api, "evaluators/fast", FAST, 412, if_none_match="*")
    put(api, "evaluators/fast", FAST, 412, if_match='"0000"')
    put(api, "evaluators/fast", FAST, 412, if_match=f"W/{tag}")
    put(api, "evaluators/new", FAST, 412, if_match="*")
    put(api, "evaluators/fast", {**SLOW, "timeout": 3}, 200, if_match=f'"0000", {tag}')
    refused = api.http.delete("/api/evaluators/fast", headers={"if-match": tag})
    assert answered(refused, 412)["remedy"]
    put(api, "evaluators/new", {**FAST, "timeout": 4}, 201, if_none_match="*")
    put(api, "evaluators/new", FAST, 400, if_none_match='"0000"')
    put(api, "evaluators/new", FAST, 400, if_none_match="*", if_match="*")


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"url": "https://a.example/", "headers": {"authorization": "s3cret"}}, "authorization"),
        ({"url": "https://a.example/?token=s3cret"}, "config.url"),
    ],
)
def test_secrets_are_refused_and_not_repeated(api: Api, config: dict[str, Any], place: str) -> None:
    hook = {"type": "webhook", "config": config}
    for body in (hook, {"type": "composite", "config": {"members": [hook]}}):
        refused = put(api, "evaluators/hook", body, 422)
        assert place in refused["detail"]
        assert "s3cret" not in str(refused)
        assert "${VARIABLE}" in refused["remedy"]


@pytest.mark.parametrize(
    "body",
    [
        {"type": "process", "config": {"script": "true"}},
        {"type": "file://check.py:Check"},
        {"type": "composite", "config": {"members": [{"type": "process"}]}},
        {"type": "llm-judge", "config": {"template": "/etc/motd.txt"}},
        {"type": "llm-relevance", "config": {"api_key_env": "OPENAI_API_KEY"}},
        {"type": "llm-relevance", "config": {"apiKeyEnv": "OPENAI_API_KEY"}},
        {
            "type": "composite",
            "config": {"members": [{"type": "llm-relevance", "config": {"api_key_env": "KEY"}}]},
        },
    ],
)
def test_commands_and_files_are_for_the_configuration(api: Api, body: dict[str, Any]) -> None:
    refused = put(api, "evaluators/x", body, 422)
    assert "the API may not define" in refused["detail"]
    assert "definitions.commands" in refused["remedy"]


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
        "2852039166",
        "0xa9.254.0xa9fe",
        "metadata.google.internal",
        "METADATA.google.internal.",
    ],
)
def test_no_evaluator_of_the_api_asks_the_machine_who_it_is(api: Api, host: str) -> None:
    hook = {"type": "webhook", "config": {"url": f"http://{host}/latest"}}
    judge = {"type": "llm-relevance", "config": {"base_url": f"http://{host}/v1"}}
    for body in (hook, judge, {"type": "composite", "config": {"members": [hook]}}):
        refused = put(api, "evaluators/x", body, 422)
        assert "the API may not define" in refused["detail"]


def test_commands_may_be_allowed(tmp_path: Path) -> None:
    with running_api(tmp_path, definitions={"commands": True}) as api:
        put(api, "evaluators/x", {"type": "process", "config": {"script": "true"}}, 201)


def test_a_body_that_is_nested_too_deep_is_refused(api: Api) -> None:
    deep: Any = {}
    for _ in range(60):
        deep = {"properties": deep}
    body = {"type": "json-schema", "config": {"schema": deep}}
    assert "deeper than 40" in put(api, "evaluators/x", body, 422)["detail"]


def test_there_is_a_bound_to_how_many_are_defined(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracejury_collector.definitions.edits.MAX_OF_KIND", 2)
    for number in range(2):
        put(api, f"rules/r{number}", {"evaluators": ["ours"]}, 201)
    assert "2 rules are defined" in put(api, "rules/r2", {"evaluators": ["ours"]}, 409)["detail"]
    put(api, "rules/r1", {"evaluators": ["no-loops"]}, 200)


def test_an_unknown_name_is_not_found(api: Api) -> None:
    for path in ("rules/x", "evaluators/x", "evaluators/a/b"):
        assert answered(api.http.get(f"/api/{path}"), 404)["code"] == "not_found"
        assert answered(api.http.delete(f"/api/{path}"), 404)["code"] == "not_found"
    assert answered(api.http.get("/api/rules?kind=x"), 422)["errors"][0]["field"] == "kind"
