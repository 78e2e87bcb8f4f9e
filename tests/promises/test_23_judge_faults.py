"""A judge that misbehaves harms no other judgement; its endpoint is left alone until it is well."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_judge import SPAN
from tests.helpers.judges import ScriptedJudge, serve_judge
from tests.helpers.service import FAST, RunningService, eventually, running_service

RULING = {"score": 0.9, "verdict": "pass", "reasoning": "it is kind"}
OUTAGES: dict[str, Mapping[str, Any]] = {
    "is-limited": {"status": 429, "headers": {"retry-after": "1"}},
    "fails": {"status": 500},
    "refuses-the-key": {"status": 401},
    "hangs": {"hang": True},
    "drips": {"drip": True},
}
NO_RULINGS: dict[str, tuple[Mapping[str, Any], str]] = {
    "redirects": (
        {"status": 307, "headers": {"location": "http://169.254.169.254/"}},
        "JudgeRedirected",
    ),
    "rejects": ({"status": 400}, "JudgeRejected"),
    "talks-garbage": ({"raw": "<html>"}, "JudgeNonsense"),
    "says-nan": (
        {"raw": '{"choices": [{"message": {"content": NaN}}]}'},
        "JudgeNonsense",
    ),
    "scores-nan": ({**RULING, "score": float("nan")}, "JudgeNonsense"),
    "scores-too-high": ({**RULING, "score": 7}, "JudgeNonsense"),
    "chats": ({"say": 'Sure! {"score": 1, "verdict": "pass"}'}, "JudgeNonsense"),
    "contradicts-itself": ({**RULING, "score": 0.0}, "JudgeNonsense"),
    "floods": ({"flood": True}, "JudgeNonsense"),
    "refuses": ({"refuse": "I would rather not"}, "JudgeRefused"),
    "is-cut-off": ({"cut": True}, "JudgeTruncated"),
}


@contextmanager
def judged_service(directory: Path) -> Iterator[tuple[RunningService, ScriptedJudge]]:
    """A service whose judge is scripted, and whose endpoint is soon given up and soon tried."""
    asked = {"success_criteria": "Is kind.", "retries": 0, "re_asks": 0, "request_timeout": 0.5}
    with serve_judge() as judge:
        settings = {
            "judge": {
                "model": "openai:gpt-4o-mini",
                "base_url": f"{judge.url}/v1",
                "concurrency": 3,
                "open_after": 1,
                "pause": "500ms",
                "longest_pause": "500ms",
            },
            "evaluators": {"kind": {"type": "llm-judge", "config": {**asked, "time_limit": 2}}},
            "rules": {"all": {"evaluators": ["non-empty-output", "kind"]}},
        }
        config = FAST + "\n".join(f"{key}: {json.dumps(value)}" for key, value in settings.items())
        with running_service(directory, config) as service:
            yield service, judge


def send(service: RunningService, number: int) -> str:
    """Send a trace; its id."""
    trace_id = f"{number:032x}"
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [{**SPAN, "traceId": trace_id}]}]}]}
    assert service.client.post(f"{service.otlp_http}/v1/traces", json=body).status_code == 200
    return trace_id


def result(service: RunningService, trace_id: str, evaluator: str) -> list[list[Any]]:
    """Outcome, error type and score of an evaluator on a trace, if they are in."""
    return service.sql(
        "SELECT outcome, error_type, score FROM scores "
        f"WHERE trace_id = '{trace_id}' AND evaluator = '{evaluator}'"
    )


def story(service: RunningService, trace_id: str) -> list[str]:
    """What is explained of a trace; nothing until it has arrived."""
    response = service.client.get(f"{service.api}/api/traces/{trace_id}/explain")
    if response.status_code == 404:
        return []
    response.raise_for_status()
    lines: list[str] = response.json()["lines"]
    return lines


def circuit(service: RunningService) -> float:
    """What /metrics says of the judge's endpoint."""
    text = service.client.get(f"{service.api}/metrics").text
    line = next(one for one in text.splitlines() if one.startswith("tracejury_judge_circuit{"))
    return float(line.rpartition(" ")[2])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_endpoint_that_misbehaves_harms_no_other_judgement(tmp_path: Path) -> None:
    with judged_service(tmp_path) as (service, judge):
        numbers = iter(range(1, 100))
        for fault, answer in OUTAGES.items():
            judge.forever = answer
            trace = send(service, next(numbers))

            def waits(trace: str = trace) -> bool:
                lines = story(service, trace)
                return any("has failed" in line and "gpt-4o-mini at" in line for line in lines)

            eventually(waits, f"explain says what {fault}", log=service.log)
            assert result(service, trace, "non-empty-output") == [["score", None, 1.0]], fault
            assert result(service, trace, "kind") == [], fault
            assert circuit(service) > 0, fault
            judge.forever = RULING
            eventually(
                lambda t=trace: result(service, t, "kind") == [["score", None, 0.9]],  # type: ignore[misc]
                f"it is judged after what {fault}",
                log=service.log,
            )
            assert circuit(service) == 0, fault
        for fault, (answer, error_type) in NO_RULINGS.items():
            judge.forever = answer
            trace = send(service, next(numbers))
            eventually(
                lambda t=trace: result(service, t, "kind") != [],  # type: ignore[misc]
                f"the outcome of what {fault}",
                log=service.log,
            )
            assert result(service, trace, "kind") == [["failure", error_type, None]], fault
            assert result(service, trace, "non-empty-output") == [["score", None, 1.0]], fault
            assert circuit(service) == 0, fault
        metrics = service.client.get(f"{service.api}/metrics").text
    for error_type in ("JudgeUnavailable", "JudgeUnauthorized", "JudgeTimeout"):
        assert f'error="{error_type}"' in metrics
    assert 'tracejury_judge_repeats_total{evaluator="kind"}' in metrics
