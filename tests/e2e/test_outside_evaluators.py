"""A script, an endpoint and a query judge what a real service receives."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx

from tests.helpers.endpoint import endpoint
from tests.helpers.service import FAST, eventually, running_service

CHECK = """
import json, sys
run = json.load(sys.stdin)
called = [call["tool"] for message in run["output_messages"] for call in message["tool_calls"]]
met = run["expected_outcome"] in run["candidate_answer"]
print(json.dumps({"score": float(met), "hits": called, "reasoning": run["question"]}))
"""
FAILING = """
import json, sys
print(json.dumps({"score": 0, "misses": ["no table"], "reasoning": "cannot read"}))
sys.exit(1)
"""


def attribute(key: str, value: str) -> dict[str, object]:
    return {"key": key, "value": {"stringValue": value}}


def span(span_id: str, parent: str, name: str, **attributes: str) -> dict[str, object]:
    known = [attribute(key.replace("__", "."), value) for key, value in attributes.items()]
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": span_id,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000001000000000",
        "attributes": known,
    }


AGENT = {
    "gen_ai__operation__name": "invoke_agent",
    "gen_ai__input__messages": json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": "Weather in Paris?"}]}]
    ),
    "gen_ai__output__messages": json.dumps(
        [{"role": "assistant", "parts": [{"type": "text", "content": "18 degrees"}]}]
    ),
}
TOOL = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "get_weather"}
SPANS = [
    span("00" * 7 + "01", "", "agent", **AGENT),
    span("00" * 7 + "02", "00" * 7 + "01", "tool", **TOOL),
]
SQL = "SELECT trace_id, tool_calls = 1 AS passed, 'counted' AS reason FROM traces"


def test_a_script_an_endpoint_and_a_query_judge_a_run(tmp_path: Path) -> None:
    (tmp_path / "check.py").write_text(CHECK)
    (tmp_path / "failing.py").write_text(FAILING)
    python = {"script": [sys.executable, "check.py"], "cwd": str(tmp_path)}
    failing = {"script": [sys.executable, "failing.py"], "cwd": str(tmp_path)}
    with endpoint() as server:
        url = f"{server.url}/judge?key=hidden&body=%7B%22score%22%3A0.5%7D"
        evaluators = {
            "script": {"type": "process", "config": python, "criteria": {"expected_outcome": "18"}},
            "failing": {"type": "process", "config": failing},
            "endpoint": {"type": "webhook", "config": {"url": url}},
            "query": {"type": "sql", "config": {"sql": SQL}},
        }
        rules = {"all": {"evaluators": list(evaluators)}}
        config = f"{FAST}evaluators: {json.dumps(evaluators)}\nrules: {json.dumps(rules)}\n"
        with running_service(tmp_path, config) as service:
            body = {"resourceSpans": [{"scopeSpans": [{"spans": SPANS}]}]}
            httpx.post(f"{service.otlp_http}/v1/traces", json=body).raise_for_status()
            path = "/api/results"
            eventually(lambda: len(service.get(path)["items"]) == 4, "all judge", log=service.log)
            found = {item["evaluator"]: item for item in service.get(path)["items"]}
            assert "hidden" not in service.log()
    assert (found["script"]["verdict"], found["script"]["hits"]) == ("pass", ["get_weather"])
    assert found["script"]["reason"] == "Weather in Paris?"
    assert (found["endpoint"]["verdict"], found["endpoint"]["score"]) == ("partial", 0.5)
    assert (found["query"]["verdict"], found["query"]["reason"]) == ("pass", "counted")
    assert (found["failing"]["outcome"], found["failing"]["error_type"]) == (
        "failure",
        "ScriptFailed",
    )
    assert "misses: 'no table'" in found["failing"]["error_message"]
    assert json.loads(server.bodies[0])["candidate_answer"] == "18 degrees"
