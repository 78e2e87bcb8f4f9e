"""A day's budget holds to one judgement, in a running service and through its restart."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.test_judge import SPAN
from tests.helpers.judges import serve_judge
from tests.helpers.service import FAST, RunningService, eventually, running_service

RULING = {"score": 0.9, "verdict": "pass", "reasoning": "it is kind"}
TRACES = 30
LIMIT_TOKENS = 700


def send(service: RunningService, numbers: range) -> None:
    spans = [{**SPAN, "traceId": f"{number:032x}"} for number in numbers]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    assert service.client.post(f"{service.otlp_http}/v1/traces", json=body).status_code == 200


def outcomes(service: RunningService, rule: str) -> dict[str, int]:
    rows = service.sql(
        "SELECT coalesce(s.outcome, d.outcome), count(*) FROM decisions AS d "
        "LEFT JOIN scores AS s ON s.target_id = d.target_id AND s.rule = d.rule "
        f"WHERE d.rule = '{rule}' AND d.outcome <> 'filtered' GROUP BY ALL"
    )
    return dict(rows)


def test_a_budget_ends_judging_by_models_and_nothing_else(tmp_path: Path) -> None:
    with serve_judge() as judge:
        judge.forever = RULING
        settings = {
            "judge": {"model": "openai:any-model", "base_url": f"{judge.url}/v1", "concurrency": 4},
            "evaluators": {
                "kind": {"type": "llm-judge", "config": {"success_criteria": "Is kind."}}
            },
            "rules": {
                "costly": {"evaluators": ["kind"], "budget": {"tokens_per_day": LIMIT_TOKENS}},
                "free": {"evaluators": ["non-empty-output"]},
            },
        }
        config = FAST + "\n".join(f"{key}: {json.dumps(value)}" for key, value in settings.items())
        with running_service(tmp_path, config) as service:
            send(service, range(1, TRACES + 1))
            eventually(
                lambda: (
                    sum(outcomes(service, "costly").values()) == TRACES
                    and "selected" not in outcomes(service, "costly")
                ),
                "every selected trace was judged or refused",
                timeout_s=90,
                log=service.log,
            )
            found = outcomes(service, "costly")
            asked = len(judge.received)
            (each,) = {
                tokens
                for (tokens,) in service.sql(
                    "SELECT input_tokens + output_tokens FROM scores WHERE outcome = 'score' "
                    "AND rule = 'costly'"
                )
            }
            assert found["score"] == asked
            assert LIMIT_TOKENS <= asked * each < LIMIT_TOKENS + each
            assert found["skip"] + found.get("over_budget", 0) == TRACES - asked
            reasons = service.sql(
                "SELECT DISTINCT reason FROM scores WHERE outcome = 'skip' AND rule = 'costly'"
            )
            assert ["used up" in reason for (reason,) in reasons] == [True]
            eventually(
                lambda: outcomes(service, "free") == {"score": TRACES},
                "what costs nothing goes on",
                log=service.log,
            )

            service.children()["store"].kill()
            eventually(service.is_ready, "the store is back", timeout_s=30, log=service.log)
            send(service, range(100, 103))
            eventually(
                lambda: (
                    outcomes(service, "costly").get("over_budget", 0)
                    >= found.get("over_budget", 0) + 3
                ),
                "a restart forgets nothing that was spent",
                timeout_s=30,
                log=service.log,
            )
            assert len(judge.received) == asked
            story = service.get(f"/api/traces/{100:032x}/explain")["lines"]
            assert any("over budget" in line and "used up" in line for line in story)
