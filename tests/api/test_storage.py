"""What is stored, over the API and the command line."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import duckdb
from typer.testing import CliRunner

from tests.helpers.api import Api, agent_run
from tracejury.cli import app
from tracejury_collector.keeping import Keeper
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
    place = api.context.db.rows("place_of_trace", {"trace_id": TRACE})[0]
    old = removal.OldTrace(trace_id=TRACE, span_count=2, **place)
    removal.remove_arrivals(api.context.db, [old], api.clock.now_ns + 1, "age")
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


def test_an_end_user_is_erased_over_the_api(api: Api) -> None:
    api.store(*({**row, "user_id": "ada"} for row in agent_run(1)), *agent_run(2))
    api.finish()
    asked = {"user_id": "ada", "dry_run": True}
    counted = api.http.post("/api/erasures", json=asked)
    assert (counted.status_code, counted.json()["report"]["traces"]) == (200, 1)
    assert api.get("/api/erasures")["items"] == []
    made = api.http.post("/api/erasures", json={"user_id": "ada"})
    assert (made.status_code, made.json()["state"]) == (202, "running")
    while api.context.eraser.step():
        pass
    found = api.get(f"/api/erasures/{made.json()['id']}")
    assert (found["state"], found["report"]["deleted"]) == ("done", 1)
    assert "ada" not in str(api.get("/api/erasures"))
    assert api.http.get(f"/api/traces/{TRACE}").status_code == 404
    assert len(api.get("/api/traces")["items"]) == 1
    assert api.http.get("/api/erasures/unknown").status_code == 404
    for wrong in ({"user_id": ""}, {"user_id": "ada", "dry_run": 0}):  # 0 must not mean false
        assert api.http.post("/api/erasures", json=wrong).status_code == 422


def test_the_commands_erase_compact_and_copy(api: Api, url: str, tmp_path: Path) -> None:
    api.store(*({**row, "user_id": "ada"} for row in agent_run(1)), *agent_run(2))
    api.finish()
    keeper = Keeper([api.context.eraser.step, api.context.maintenance.step])
    stop = threading.Event()
    working = threading.Thread(target=keeper.run, args=(stop,))
    working.start()
    try:
        runner = CliRunner(env={"COLUMNS": "80", "TRACEJURY_URL": url})
        refused = runner.invoke(app, ["erase", "--user", "ada"], input="n\n")
        assert (refused.exit_code, "nothing was deleted" in refused.output) == (2, True)
        erased = runner.invoke(app, ["erase", "--user", "ada", "--yes"])
        assert "1 traces deleted" in erased.output
        compacted = runner.invoke(app, ["compact", "--max-pause", "60"])
        assert compacted.exit_code == 0, compacted.output
        assert "nothing was stored for" in compacted.output
        short = runner.invoke(app, ["compact", "--max-pause", "0.1"])
        assert short.exit_code == 1
        file = tmp_path / "backup.duckdb"
        copied = runner.invoke(app, ["snapshot", str(file)])
        assert copied.exit_code == 0, copied.output
        named = runner.invoke(app, ["snapshot", "--name", "kept", "--json"])
        assert Path(json.loads(named.stdout)["path"]).name == "kept.duckdb"
        assert runner.invoke(app, ["snapshot"]).exit_code == 2
        assert runner.invoke(app, ["snapshot", str(file)]).exit_code == 2
    finally:
        stop.set()
        keeper.wake()
        working.join(10)
    with duckdb.connect(str(file), read_only=True) as copy:
        assert copy.execute("SELECT count(*) FROM traces").fetchone() == (1,)
    assert not list(tmp_path.glob("*.snapshot-*"))
