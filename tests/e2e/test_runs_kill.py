"""A run outlives kill -9 of every process: each pair once, no answer that was kept asked again."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.helpers.judges import KEY, ScriptedJudge, serve_judge
from tests.helpers.service import FAST, RunningService, eventually, kill, running_service

TRACES = 400
CONCURRENCY = 4
DELAY_S = 0.25
RULING = {"score": 0.9, "verdict": "pass", "reasoning": "it is kind"}
RESULTS = "SELECT trace_id FROM scores_history WHERE run_id = '{}'"
_ANSWER = re.compile(r"answer number (\d+)\.")


def spans(number: int) -> dict[str, object]:
    """Return the root of an agent's run that gave an answer of its own."""
    said = (
        f'[{{"role":"assistant","parts":[{{"type":"text","content":"answer number {number}."}}]}}]'
    )
    now_ns = time.time_ns()
    values = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "helper",
        "gen_ai.output.messages": said,
    }
    return {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": "invoke_agent helper",
        "startTimeUnixNano": str(now_ns - 1_000_000),
        "endTimeUnixNano": str(now_ns),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in values.items()],
    }


def asked(judge: ScriptedJudge, since: int = 0) -> list[str]:
    """Return the traces that the judge was asked about, in order, from call `since` on."""
    found = (_ANSWER.search(request.text) for request in judge.received[since:])
    return [f"{int(match[1]):032x}" for match in found if match]


def kept(service: RunningService, run_id: str) -> list[str]:
    """Return the traces that have a result of the run."""
    return [trace for (trace,) in service.sql(RESULTS.format(run_id))]


def state(service: RunningService, run_id: str) -> str:
    """Return the run's state, "" while the service is away."""
    try:
        return str(service.get(f"/api/runs/{run_id}")["state"])
    except httpx.HTTPError:
        return ""


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_backfill_goes_on_after_every_kill_and_repeats_only_calls_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with serve_judge() as judge:
        judge.forever, judge.delay_s = RULING, DELAY_S
        config = (
            f"{FAST}judge: {{model: 'openai:gpt-4o-mini', base_url: '{judge.url}/v1', "
            f"api_key: '${{MY_KEY}}', concurrency: {CONCURRENCY}}}\n"
            "jury: {judges: 1}\n"
            "evaluators: {kind: {type: llm-judge, config: {success_criteria: Is kind.}}}\n"
            "rules: {}\n"
        )
        with running_service(tmp_path, config) as service:
            roots = [spans(number) for number in range(1, TRACES + 1)]
            body = {"resourceSpans": [{"scopeSpans": [{"spans": roots}]}]}
            answer = service.client.post(f"{service.otlp_http}/v1/traces", json=body)
            assert answer.status_code == 200
            eventually(
                lambda: (
                    service.sql("SELECT count(*) FROM traces WHERE status = 'complete'")
                    == [[TRACES]]
                ),
                "every trace is finished",
                log=service.log,
            )
            begun = service.client.post(f"{service.api}/api/runs", json={"evaluators": ["kind"]})
            assert begun.status_code == 202, begun.text
            run_id = begun.json()["run_id"]

            again: list[str] = []
            judged_at: list[int] = []
            names = [*sorted(service.children()), "supervisor"]
            for name in names:
                done = len(kept(service, run_id))
                eventually(
                    lambda done=done: len(kept(service, run_id)) > done,  # type: ignore[misc]
                    "the run goes on",
                    log=service.log,
                )
                before, calls = set(kept(service, run_id)), len(judge.received)
                judged_at.append(len(before))
                kill(service, name)
                eventually(service.is_ready, f"ready after {name} died", log=service.log)
                again += [trace for trace in asked(judge, calls) if trace in before]
            eventually(
                lambda: state(service, run_id) == "done",
                "the run is done",
                timeout_s=120,
                log=service.log,
            )
            results = Counter(kept(service, run_id))
            outcomes = service.sql(f"SELECT DISTINCT outcome FROM scores WHERE run_id = '{run_id}'")
            left = service.get(f"/api/runs/{run_id}")
        assert {"store", "receiver-1", "supervisor"} < set(names)
        assert max(judged_at) < TRACES, "too few traces for so many kills"
        assert (len(results), set(results.values())) == (TRACES, {1})
        assert outcomes == [["score"]]
        assert (left["judged"], left["to_judge"], left["progress"]) == (TRACES, TRACES, 1.0)
        calls_of = Counter(asked(judge))
        assert set(calls_of) == set(results)
        assert again == [], "a call whose result was kept was made again"
        repeated = sum(calls_of.values()) - TRACES
        assert repeated <= len(names) * 2 * CONCURRENCY
