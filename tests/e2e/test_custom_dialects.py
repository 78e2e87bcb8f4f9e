"""An invented framework through the real service: reported as unread, then read by a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

from tests.helpers.acme import ANSWER, DIALECT, QUESTION, record_run
from tests.helpers.service import FAST, RunningService, eventually, running_service, start


def unread(service: RunningService) -> dict[str, Any]:
    return {row["key"]: row for row in service.get("/api/dialects")["unread"]}


def exported(service: RunningService) -> Any:
    """Export one run, and return the finished trace."""
    trace_id = record_run(OTLPSpanExporter(endpoint=f"{service.otlp_http}/v1/traces"))

    def is_finished() -> bool:
        items = service.get("/api/traces", limit=50)["items"]
        return any(i["trace_id"] == trace_id and i["status"] == "complete" for i in items)

    eventually(is_finished, "the trace is finished", log=service.log)
    return service.get(f"/api/traces/{trace_id}")


def assert_rebuilt(trace: Any) -> None:
    assert (trace["input_text"], trace["output_text"]) == (QUESTION, ANSWER)
    assert (trace["kind"], trace["agent_name"]) == ("agent", "weatherman")
    assert (trace["session_id"], trace["user_id"]) == ("s-1", "u-1")
    (call,) = trace["tool_calls"]
    assert (call["name"], call["id"], call["source"]) == ("get_weather", "c1", "both")
    assert (call["arguments"], call["output"]) == ({"city": "Oslo"}, {"sky": "rain"})
    assert (trace["usage"]["input_tokens"], trace["usage"]["output_tokens"]) == (35, 10)
    assert trace["models"] == ["nova-1"]
    assert [document["content"] for document in trace["documents"]] == ["Oslo is wet."]
    assert trace["dialects"] == ["acme"]


def test_an_unknown_framework_is_reported_and_then_read_by_a_file(tmp_path: Path) -> None:
    config = f"receivers: 2\n{FAST}"
    with running_service(tmp_path, config) as service:
        before = exported(service)
        assert before["tool_calls"] == []
        eventually(
            lambda: unread(service).get("acme.question", {}).get("spans") == 2,
            "both receivers have reported",
            log=service.log,
        )
        row = unread(service)["acme.question"]
        assert (row["scope"], row["kind"]) == ("acme.tracing.core", "attribute")
        assert service.sql("SELECT spans FROM unread_attributes WHERE key = 'acme.question'") == [
            [2]
        ]
        assert 'key="acme.question"' in service.client.get(f"{service.api}/metrics").text

        service.process.terminate()
        service.process.wait(20)
        plain = service.config.read_text()
        service.config.write_text(f"dialects: ['{DIALECT}']\n{plain}")
        service.process = start(service.config, service.log_path)
        eventually(service.is_ready, "the service is ready", timeout_s=30, log=service.log)

        assert_rebuilt(exported(service))
        assert_rebuilt(service.get(f"/api/traces/{before['trace_id']}"))
        columns = "SELECT dialect, count(*) FROM spans GROUP BY ALL ORDER BY ALL"
        assert service.sql(columns) == [["acme", 5], [None, 5]]
        eventually(
            lambda: (
                unread(service).keys() == {"acme.prompt.template.version", "acme.tool.considered"}
            ),
            "only what the file leaves out is reported",
            log=service.log,
        )
        acme = service.get("/api/dialects")["dialects"][0]
        assert (acme["name"], acme["spans"], acme["file"]) == ("acme", 5, str(DIALECT))
        check_with_the_command_line(service)


def check_with_the_command_line(service: RunningService) -> None:
    command = [sys.executable, "-m", "tracejury"]
    options = ["--json", "--url", service.api]
    doctor = subprocess.run(
        [*command, "doctor", "--dialects", str(DIALECT), *options],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    trial = json.loads(doctor.stdout)["trial"]
    assert (trial["spans"], trial["recognized"]) == (10, 10)
    assert {f["place"] for f in trial["findings"] if not f["hits"]} == {
        "kinds[1]",
        "event_kinds[0]",
    }
    listed = subprocess.run(
        [*command, "dialects", *options], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(listed.stdout)["unread_count"] == 2


def test_a_service_with_a_wrong_dialect_does_not_start_and_says_why(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("name: acme\nscops: [acme]\n")
    config = tmp_path / "tracejury.yaml"
    config.write_text(f"storage: {tmp_path}/x.duckdb\ndialects: ['{wrong}']\n")
    run = subprocess.run(
        [sys.executable, "-m", "tracejury", "serve", "--config", str(config)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert f"dialects: {wrong}, line 2: scops: unknown key" in run.stderr
    assert "Traceback" not in run.stderr
