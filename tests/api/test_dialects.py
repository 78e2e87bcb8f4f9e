"""The dialects that are known, and the report on the unknown."""

from __future__ import annotations

import dataclasses
from typing import Any

from starlette.testclient import TestClient

from tests.helpers.api import Api, agent_run
from tests.helpers.otlp import make_span, request_of, to_json
from tests.helpers.store import span_row
from tracejury.dialects import BUILT_IN, active
from tracejury_collector.api.app import create_app
from tracejury_collector.store.unread import UnreadLog


def imported(api: Api, **attributes: str) -> None:
    """Import one span with these attributes, `__` for dots."""
    active().take_unread()  # what other tests left in this process
    document = to_json(request_of(make_span()))
    scoped = document["resourceSpans"][0]["scopeSpans"][0]
    scoped["scope"] = {"name": "nova"}
    scoped["spans"][0]["attributes"] = [
        {"key": key.replace("__", "."), "value": {"stringValue": value}}
        for key, value in attributes.items()
    ]
    assert api.http.post("/api/traces/import", json=document).status_code == 200


def test_every_dialect_is_listed_with_what_it_gives(shared: Api) -> None:
    report = shared.get("/api/dialects")
    assert [dialect["name"] for dialect in report["dialects"]] == [d.name for d in BUILT_IN]
    genai = next(d for d in report["dialects"] if d["name"] == "otel_genai")
    assert {"input", "tool_arguments"} <= set(genai["fields"])
    assert (genai["origin"], genai["file"]) == ("built_in", None)


def test_spans_are_counted_by_dialect_with_the_time_of_the_last(api: Api) -> None:
    for n, dialect in enumerate(("otel_genai", "otel_genai", None)):
        api.store(span_row(span_id=f"{n + 1:016x}", dialect=dialect))
    report = api.get("/api/dialects")
    genai = next(d for d in report["dialects"] if d["name"] == "otel_genai")
    assert genai["spans"] == 2
    assert genai["last_seen"].startswith("2026-")
    assert report["spans_without_dialect"] == 1
    others = [d for d in report["dialects"] if d["name"] != "otel_genai"]
    assert {(d["spans"], d["last_seen"]) for d in others} == {(0, None)}


def test_what_no_rule_reads_is_reported_with_an_example(api: Api) -> None:
    imported(api, nova__agent__prompt="<b>what?</b>", nova__host="a")
    report = api.get("/api/dialects")
    (row,) = report["unread"]
    assert (row["scope"], row["key"], row["kind"]) == ("nova", "nova.agent.prompt", "attribute")
    assert (row["spans"], row["example"]) == (1, "\\u003cb\\u003ewhat?\\u003c/b\\u003e")
    assert row["first_seen"] == row["last_seen"]
    assert report["unread_count"] == 1
    answer = api.http.post("/api/sql", json={"sql": "SELECT scope, key FROM unread_attributes"})
    assert answer.json()["rows"] == [["nova", "nova.agent.prompt"]]


def test_the_report_is_cut_where_the_caller_wants(api: Api) -> None:
    log = UnreadLog(api.context.db)
    log.add([("nova", f"prompt.{n}", n + 1, "") for n in range(5)]).result(10)
    report = api.get("/api/dialects", unread=2)
    assert [row["spans"] for row in report["unread"]] == [5, 4]
    assert report["unread_count"] == 5
    assert api.http.get("/api/dialects", params={"unread": -1}).status_code == 422
    assert api.http.get("/api/dialects", params={"unred": 1}).status_code == 422


def test_the_metric_of_unread_attributes_has_few_series(api: Api) -> None:
    log = UnreadLog(api.context.db)
    log.add([(f'scope "{n:03}"\n', "nova.prompt", 1, "secret") for n in range(150)]).result(10)
    lines = [
        line
        for line in api.http.get("/metrics").text.splitlines()
        if line.startswith("tracejury_unread_attributes_total{")
    ]
    assert len(lines) == 101
    assert 'tracejury_unread_attributes_total{key="other",scope="other"} 50.0' in lines
    assert not any("secret" in line for line in lines)


def test_a_dialect_of_the_user_names_its_file(api: Api) -> None:
    context = dataclasses.replace(api.context, dialect_files={"crewai": "./crew.yaml"})
    with TestClient(create_app(context), base_url="http://127.0.0.1:4319") as http:
        found: list[dict[str, Any]] = http.get("/api/dialects").json()["dialects"]
    own = [d for d in found if d["origin"] == "file"]
    assert [(d["name"], d["file"]) for d in own] == [("crewai", "./crew.yaml")]


def test_a_run_that_everything_is_read_of_leaves_the_report_empty(api: Api) -> None:
    api.store(*agent_run(1))
    assert api.get("/api/dialects")["unread"] == []
