"""What is stored, over the API and the command line."""

from __future__ import annotations

from typer.testing import CliRunner

from tests.helpers.api import Api, agent_run
from tracejury.cli import app
from tracejury_collector.store import removal

TRACE = f"{1:032x}"


def test_storage_tells_what_each_project_holds(api: Api, url: str) -> None:
    api.store(*agent_run(1), *({**row, "project": "other"} for row in agent_run(2)))
    api.finish()
    found = api.get("/api/storage")
    assert found["rows"] == {
        "spans": 4,
        "logs": 0,
        "traces": 2,
        "decisions": 2,
        "results": 0,
        "labels": 0,
    }
    assert found["file_bytes"] >= found["used_bytes"] >= found["live_bytes"] > 0
    assert {row["project"]: row["spans"] for row in found["projects"]} == {"default": 2, "other": 2}
    assert sum(row["bytes"] for row in found["projects"]) <= found["live_bytes"]
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["storage", "--url", url]).stdout
    assert "forever" in shown
    assert "other" in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("rows"))
    metrics = api.http.get("/metrics").text
    assert 'tracejury_storage_bytes{what="used"}' in metrics


def test_a_trace_without_its_spans_shows_what_is_left_of_it(api: Api) -> None:
    api.store(*agent_run(1))
    api.finish()
    before = api.get(f"/api/traces/{TRACE}")
    removal.remove_arrivals(api.context.db, [TRACE], api.clock.now_ns + 1, "age")
    after = api.get(f"/api/traces/{TRACE}")
    assert (before["spans_deleted_at"], len(before["tool_calls"])) == (None, 1)
    assert after["spans_deleted_at"].startswith("2026")
    same = {"name", "kind", "agent_name", "latency_ms", "decisions", "usage", "flags", "models"}
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert (after["spans"], after["tool_calls"]) == ([], [])
    assert set(after) == set(before)
    assert api.get("/api/traces")["items"][0]["spans_deleted_at"] == after["spans_deleted_at"]
    assert "its spans were deleted" in " ".join(api.get(f"/api/traces/{TRACE}/explain")["lines"])
    assert 'deleted_total{why="age"} 1.0' in api.http.get("/metrics").text
