"""A service whose evaluators ask a model: rulings come back with what they took, keys stay put."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers.judges import KEY, serve_judge
from tests.helpers.service import FAST, eventually, running_service

RULING = {"score": 0.9, "verdict": "pass", "reasoning": "it is kind", "hits": ["kind"]}
SPAN = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "name": "invoke_agent helper",
    "startTimeUnixNano": "1700000000000000000",
    "endTimeUnixNano": "1700000001000000000",
    "attributes": [
        {"key": key, "value": {"stringValue": value}}
        for key, value in {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "helper",
            "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
            "gen_ai.output.messages": (
                '[{"role":"assistant","parts":[{"type":"text","content":"Hello, dear!"}]}]'
            ),
        }.items()
    ],
}


@pytest.mark.slow
def test_a_configured_judge_rules_and_its_key_is_found_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with serve_judge([RULING]) as judge:
        config = (
            f"{FAST}judge: {{model: 'openai:gpt-4o-mini', base_url: '{judge.url}/v1', "
            "api_key: '${MY_KEY}'}\n"
            "evaluators: {kind: {type: llm-judge, config: {success_criteria: Is kind.}}}\n"
            "rules: {all: {evaluators: [kind]}}\n"
        )
        with running_service(tmp_path, config) as service:
            body = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
            answer = service.client.post(f"{service.otlp_http}/v1/traces", json=body)
            assert answer.status_code == 200
            eventually(
                lambda: service.get("/api/results")["items"], "the ruling is in", log=service.log
            )
            (result,) = service.get("/api/results")["items"]
            shown = service.client.get(f"{service.api}/api/evaluator-types").text
            arguments = [" ".join(child.cmdline()) for child in service.children().values()]
            explained = service.client.get(
                f"{service.api}/api/traces/{SPAN['traceId']}/explain"
            ).text
            spans = (
                "SELECT name, kind, model, input_tokens, trace_id, links, attributes FROM spans "
                "WHERE project = 'tracejury-judges' ORDER BY name"
            )
            eventually(lambda: len(service.sql(spans)) == 3, "the judge is traced", log=service.log)
            call, conversation, judgement = service.sql(spans)
            assert service.sql("SELECT session_id FROM sessions") == []
            own = f"SELECT outcome, reason FROM decisions WHERE target_id = '{judgement[4]}'"
            eventually(lambda: service.sql(own), "it was decided on", log=service.log)
            ((outcome, reason),) = service.sql(own)
        assert (judgement[0], judgement[1]) == ("judge kind", "evaluator")
        assert str(SPAN["traceId"]) in str(judgement[5])
        assert conversation[0] == "invoke_agent judge"
        assert call[1:5] == ["llm", "gpt-4o-mini", 100, judgement[4]]
        assert "Hello, dear!" not in str([call, conversation, judgement])
        assert (outcome, "judge" in reason) == ("filtered", True)
        assert len(judge.received) == 1
        assert (result["outcome"], result["score"], result["verdict"]) == ("score", 0.9, "pass")
        assert "Hello, dear!" in judge.prompts[0]
        assert judge.received[0].headers["authorization"] == f"Bearer {KEY}"
    files = [Path(where) / name for where, _, names in os.walk(tmp_path) for name in names]
    assert tmp_path / "tracejury.duckdb" in files
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    assert KEY not in "".join([shown, explained, str(result), *arguments])
