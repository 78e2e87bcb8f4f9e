"""Whatever is killed while judges are asked: each pair is judged once, and hardly any asked twice.

At most what was under way at a kill is asked again; kills of others than those who ask or keep
the answers cost nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import httpx
import psutil
import pytest

from tests.e2e.test_judge import SPAN
from tests.helpers.judges import ScriptedJudge, serve_judge
from tests.helpers.service import FAST, RunningService, eventually, running_service

RULING = {"score": 0.9, "verdict": "pass", "reasoning": "it is kind"}
TRACES = 60
SIDE_BY_SIDE = 4
ASKING = ("judge-1", "store", "supervisor")
OTHERS = ("jury-1", "receiver-1")


def send(service: RunningService) -> None:
    """Send traces that tell themselves apart in what the judge is told."""
    spans = []
    for number in range(1, TRACES + 1):
        text = json.dumps(SPAN).replace("Hello, dear!", f"Hello, number {number}.")
        spans.append({**json.loads(text), "traceId": f"{number:032x}"})
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    assert service.client.post(f"{service.otlp_http}/v1/traces", json=body).status_code == 200


def asked(judge: ScriptedJudge) -> Counter[str]:
    """How often the judge was asked about each trace."""
    found = (re.search(r"Hello, number (\d+)\.", prompt) for prompt in judge.prompts)
    return Counter(match[1] for match in found if match)


def kill(service: RunningService, name: str) -> None:
    if name == "supervisor":
        service.process.kill()
        service.restart()
    else:
        eventually(lambda: name in service.children(), f"{name} runs", log=service.log)
        child = service.children()[name]
        child.kill()
        eventually(lambda: not psutil.pid_exists(child.pid), f"{name} is gone")
    eventually(service.is_ready, "the service is ready", timeout_s=60, log=service.log)


def is_judged(service: RunningService, pairs: str) -> bool:
    """Whether all pairs have results; not while the service is being replaced."""
    try:
        return bool(service.sql(pairs)[0][0] >= 2 * TRACES)
    except httpx.HTTPError:
        return False


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_only_what_is_under_way_at_a_kill_is_asked_again(tmp_path: Path) -> None:
    with serve_judge() as judge:
        judge.forever = {**RULING, "delay_s": 0.4}
        settings = {
            "judge": {
                "model": "openai:gpt-4o-mini",
                "base_url": f"{judge.url}/v1",
                "concurrency": SIDE_BY_SIDE,
            },
            "evaluators": {"kind": {"type": "llm-judge", "config": {"success_criteria": "Kind."}}},
            "rules": {"all": {"evaluators": ["non-empty-output", "kind"]}},
        }
        config = FAST + "\n".join(f"{key}: {json.dumps(value)}" for key, value in settings.items())
        with running_service(tmp_path, config) as service:
            send(service)
            for name in (*OTHERS, *ASKING):
                before = len(judge.received)
                eventually(
                    lambda n=before: len(judge.received) > n + 2,  # type: ignore[misc]
                    f"judges are asked before {name} is killed",
                    timeout_s=60,
                    log=service.log,
                )
                assert sum(asked(judge).values()) < TRACES + len(ASKING) * SIDE_BY_SIDE, name
                kill(service, name)
            pairs = (
                "SELECT count(*), count(DISTINCT (trace_id, evaluator)) FROM scores_history "
                "WHERE evaluator IN ('kind', 'non-empty-output')"
            )
            eventually(
                lambda: is_judged(service, pairs),
                "all are judged",
                timeout_s=120,
                log=service.log,
            )
            assert service.sql(pairs) == [[2 * TRACES, 2 * TRACES]]
            assert service.sql("SELECT DISTINCT outcome FROM scores") == [["score"]]
        counts = asked(judge)
        assert len(counts) == TRACES
        assert sum(counts.values()) <= TRACES + len(ASKING) * SIDE_BY_SIDE
