"""The audit log: every change stands in it, with who made it, before it is answered."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.helpers.api import Api, running_api
from tracejury.cli import app
from tracejury_collector.api.access import ACCESS
from tracejury_collector.keys.file import change_keys
from tracejury_collector.keys.model import new_key
from tracejury_collector.store import audit as store
from tracejury_collector.store.statements import statement

RULE = {"evaluators": ["non-empty-output"]}
SQL = files("tracejury_collector.store") / "sql"


def entries(api: Api, **params: str) -> list[tuple[str | None, str, str, str]]:
    items = api.get("/api/audit", **params)["items"]
    return [(item["key_name"], item["method"], item["target"], item["outcome"]) for item in items]


def test_a_change_is_recorded_and_a_read_is_not(api: Api) -> None:
    api.http.put("/api/rules/mine", json=RULE).raise_for_status()
    api.get("/api/rules")
    api.http.post("/api/sql", json={"sql": "SELECT 1"}).raise_for_status()
    api.http.delete("/api/rules/mine").raise_for_status()
    api.http.delete("/api/rules/mine")
    (again, deleted, put) = api.get("/api/audit")["items"]
    assert (put["method"], put["route"]) == ("PUT", "/api/rules/{name:anything}")
    assert (put["target"], put["status"], put["outcome"]) == ("/api/rules/mine", 201, "done")
    assert (deleted["method"], deleted["status"], deleted["outcome"]) == ("DELETE", 204, "done")
    assert (again["status"], again["outcome"]) == (404, "failed")
    assert (put["key_id"], put["key_name"], put["project"]) == (None, None, None)
    assert put["created_at"] <= deleted["created_at"] <= again["created_at"]


def test_who_made_a_change_is_the_key_and_strangers_fill_no_log(tmp_path: Path) -> None:
    made = {name: new_key(name, [name], datetime.now(UTC)) for name in ("read", "write", "admin")}
    change_keys(tmp_path / "api.duckdb.keys", lambda _: tuple(one.key for one in made.values()))
    with running_api(tmp_path) as api:
        for name, status in (("write", 201), ("read", 403), ("nobody", 401)):
            secret = made[name].secret if name in made else "tj_wrong"
            answer = api.http.put("/api/rules/x", json=RULE, headers={"x-api-key": secret})
            assert answer.status_code == status
        api.http.headers["x-api-key"] = made["admin"].secret
        assert entries(api) == [
            ("read", "PUT", "/api/rules/x", "refused"),
            ("write", "PUT", "/api/rules/x", "done"),
        ]
        assert entries(api, key="write") == entries(api, key=made["write"].key.id)
        assert entries(api, outcome="refused") == entries(api)[:1]
        found = api.http.post("/api/sql", json={"sql": "SELECT key_id, outcome FROM audit"}).json()
        assert sorted(found["rows"]) == sorted(
            [[made["read"].key.id, "refused"], [made["write"].key.id, "done"]]
        )


def test_pages_hold_each_change_once(api: Api) -> None:
    for number in range(5):
        api.http.delete(f"/api/labels/{number}")
    seen, cursor = [], None
    while True:
        page = api.get("/api/audit", limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [item["target"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"/api/labels/{number}" for number in (4, 3, 2, 1, 0)]


def test_a_long_target_is_cut(api: Api) -> None:
    api.http.delete("/api/labels/" + "x" * 2000)
    (item,) = api.get("/api/audit")["items"]
    assert len(item["target"]) == 500


def test_a_change_is_answered_though_it_cannot_be_recorded(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    text = statement("insert_audit").replace("base.audit", "base.no_such_table")
    monkeypatch.setattr(store, "statement", lambda _name: text)
    assert api.http.delete("/api/labels/x").status_code == 404
    assert "missing in the audit log" in caplog.text


def test_every_route_that_changes_something_is_recorded() -> None:
    changing = {route for route in ACCESS if not route.startswith(("GET", "*"))}
    assert {route for route in changing if not ACCESS[route].changes} == {
        "POST /api/sql",
        "POST /api/traces/import",
    }


def test_no_statement_changes_the_log() -> None:
    naming = {f.name for f in SQL.iterdir() if re.search(r"\baudit\b", f.read_text("utf-8"))}
    assert naming == {"insert_audit.sql", "list_audit.sql"}


def test_the_command_lists_changes(api: Api, url: str) -> None:
    api.http.delete("/api/labels/gone")
    runner = CliRunner(env={"COLUMNS": "200", "TRACEJURY_URL": ""})
    shown = runner.invoke(app, ["audit", "--url", url]).stdout
    assert "DELETE /api/labels/gone" in shown
    assert "failed" in shown
    listed = json.loads(runner.invoke(app, ["audit", "--json", "--url", url]).stdout)
    assert listed["items"][0]["target"] == "/api/labels/gone"
    nothing = runner.invoke(app, ["audit", "--outcome", "done", "--url", url])
    assert "no changes" in nothing.stdout
