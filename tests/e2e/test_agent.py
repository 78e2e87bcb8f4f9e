"""An agent's way in: instrument(), the doctor and the demo against the real service."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.helpers.service import RunningService, eventually, running_service

AGENT = """
import sys
from opentelemetry import trace
import tracejury

provider = tracejury.instrument(sys.argv[1], "booking", project="travel")
assert tracejury.instrument(sys.argv[1]) is provider is trace.get_tracer_provider()
tracer = trace.get_tracer("my-agent")
with tracer.start_as_current_span("invoke_agent planner") as root:
    root.set_attribute("gen_ai.operation.name", "invoke_agent")
    root.set_attribute("gen_ai.agent.name", "planner")
    with tracer.start_as_current_span("execute_tool search") as tool:
        tool.set_attribute("gen_ai.operation.name", "execute_tool")
        tool.set_attribute("gen_ai.tool.name", "search")
print(f"{root.get_span_context().trace_id:032x}")
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("agent")) as running:
        yield running


def test_an_instrumented_process_is_rebuilt_and_judged(service: RunningService) -> None:
    run = subprocess.run(
        [sys.executable, "-c", AGENT, service.otlp_http],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    trace_id = run.stdout.strip()

    def judged() -> bool:
        results = service.get("/api/results", trace_id=trace_id)["items"]
        return len(results) == 4

    eventually(judged, "the four evaluators of the default jury answer", log=service.log)
    trace = service.get(f"/api/traces/{trace_id}")
    assert trace["status"] == "complete"
    assert trace["service_name"] == "booking"
    assert trace["agent_name"] == "planner"
    assert [call["name"] for call in trace["tool_calls"]] == ["search"]
    assert len(trace["spans"]) == 2
    assert service.sql(f"SELECT DISTINCT project FROM spans WHERE trace_id = '{trace_id}'") == [
        ["travel"]
    ]
    assert service.sql(f"SELECT count(*) FROM spans WHERE trace_id = '{trace_id}'") == [[2]]


def test_the_doctor_sends_a_span_and_finds_its_trace(service: RunningService) -> None:
    config = service.database.with_name("tracejury.yaml")
    run = subprocess.run(
        [sys.executable, "-m", "tracejury", "doctor", "--json", "--url", service.api,
         "--config", str(config)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    checks = {check["name"]: check for check in json.loads(run.stdout)["checks"]}
    assert checks["test span"]["state"] == "ok", checks
    assert checks["service"]["state"] == "ok"
    assert "running service" in checks["listen.grpc"]["detail"]
    assert run.returncode == 0, run.stdout


def test_the_demo_judges_a_real_agents_run_and_keeps_its_service_until_told(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tracejury", "demo", "--keep", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as demo:
        try:
            assert demo.stdout is not None
            lines: list[str] = []
            while not lines or lines[-1] not in ("}\n", ""):
                lines.append(demo.stdout.readline())
            document = json.loads("".join(lines))
            _check_demo(document["trace"])
            assert httpx.get(f"{document['api']}/readyz").status_code == 200
        finally:
            demo.send_signal(signal.SIGTERM)
        assert demo.wait(30) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{document['api']}/readyz")
    assert list(tmp_path.iterdir()) == []


def _check_demo(trace: dict[str, Any]) -> None:
    assert trace["kind"] == "agent"
    assert trace["status"] == "complete"
    assert trace["models"] == ["gpt-4o"]
    assert trace["usage"]["input_tokens"] > 0
    assert trace["cost_usd"] > 0
    assert trace["latency_ms"] > 0
    assert "Casa do Rio" in trace["output_text"]
    calls = [(call["name"], call["arguments"], call["source"]) for call in trace["tool_calls"]]
    assert calls == [
        ("get_weather", {"city": "Lisbon", "day": "Saturday"}, "both"),
        ("find_hotels", {"city": "Lisbon", "max_price_eur": 150}, "both"),
    ]
    assert trace["tool_calls"][1]["output"][0]["name"] == "Casa do Rio"
    verdicts = {result["evaluator"]: result["verdict"] for result in trace["results"]}
    assert verdicts["right-tools"] == "pass"
    assert len(verdicts) == 6
    assert set(verdicts.values()) == {"pass"}


def test_the_demo_prints_what_was_rebuilt_and_the_verdicts(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tracejury", "demo"],
        capture_output=True, text=True, timeout=110, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for said in ("get_weather(", "24", "tokens", "latency", "cost     $0.00", "right-tools"):
        assert said in run.stdout
    assert "http://127.0.0.1:" in run.stdout
