"""Alerts and exports over the API and on the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.api import START_NS, Api, record_result, running_api, served
from tests.helpers.endpoint import Endpoint, endpoint
from tracejury.cli import app
from tracejury.client import Client
from tracejury_collector.alerting.courier import Courier
from tracejury_collector.alerting.watching import Watch
from tracejury_collector.export.exporter import NAME, Exporter
from tracejury_collector.export.transport import open_transport
from tracejury_collector.store.exports import ExportMark, MarkWrite

SECRET = "/services/T0/hidden"


@pytest.fixture
def hook() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


@pytest.fixture
def outward(tmp_path: Path, hook: Endpoint) -> Iterator[Api]:
    """An API with two alerts and an export."""
    alerts = {
        "always": {
            "sql": "SELECT 42 AS answer",
            "description": "it is meant to fire",
            "webhook": {"url": f"{hook.url}{SECRET}", "headers": {"x-key": "hidden"}},
        },
        "quality: low": {"pass_rate": {"below": 0.9, "rule": "default"}, "every": "5m"},
    }
    export = {"otlp": {"endpoint": f"{hook.url}{SECRET}", "headers": {"x-key": "hidden"}}}
    with running_api(tmp_path, alerts=alerts, export=export) as api:
        yield api


def look(api: Api) -> None:
    """Look at the alert over SQL and deliver its messages."""
    spec = api.context.config.alerts["always"]
    assert spec.webhook is not None

    async def run() -> None:
        courier = Courier(api.context.db, {"always": spec.webhook} if spec.webhook else {})
        await Watch(api.context.db, {"always": spec}, courier.rouse).tick()
        await courier.tick()

    asyncio.run(run())


def run(*args: str, url: str) -> Result:
    runner = CliRunner(env={"COLUMNS": "120", "TRACEJURY_URL": url})
    return runner.invoke(app, args)


def test_alerts_are_unknown_until_they_were_looked_at(outward: Api) -> None:
    items = outward.get("/api/alerts")["items"]
    assert [(item["name"], item["status"]) for item in items] == [
        ("always", "unknown"),
        ("quality: low", "unknown"),
    ]
    assert items[1]["condition"] == (
        "pass rate of rule default below 0.9, with at least 30 judged in 3600 s"
    )
    assert items[1]["webhook"] is None


def test_an_alert_shows_its_state_and_its_messages_and_no_secret(
    outward: Api, hook: Endpoint
) -> None:
    look(outward)
    detail = outward.get("/api/alerts/always")
    assert (detail["status"], detail["summary"]) == ("firing", "1 row: answer 42")
    assert detail["webhook"] == hook.url
    (delivery,) = detail["deliveries"]
    assert (delivery["event"], delivery["status"], delivery["http_status"]) == (
        "firing",
        "delivered",
        200,
    )
    assert detail["last_delivery"] == delivery
    assert outward.get("/api/alerts")["items"][0]["last_delivery"] == delivery
    assert hook.headers[0]["x-key"] == "hidden"
    everything = json.dumps([detail, outward.get("/api/alerts"), outward.get("/api/exports")])
    assert "hidden" not in everything


def test_a_test_message_is_sent_whatever_the_state(outward: Api, hook: Endpoint) -> None:
    answer = outward.http.post("/api/alerts/always/test")
    assert (answer.status_code, answer.json()["status"]) == (202, "waiting")
    look(outward)
    sent = [json.loads(body)["tracejury"]["event"] for body in hook.bodies]
    assert sent[0] == "test"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/alerts/none", 404, "not_found"),
        ("POST", "/api/alerts/none/test", 404, "not_found"),
        ("GET", "/api/alerts/always?limit=0", 422, "invalid_request"),
        ("GET", "/api/alerts/always?other=1", 422, "invalid_request"),
    ],
)
def test_wrong_requests_are_refused(
    outward: Api, method: str, path: str, status: int, code: str
) -> None:
    answer = outward.http.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_an_alert_without_a_webhook_cannot_be_tested(tmp_path: Path) -> None:
    with running_api(tmp_path, alerts={"silent": {"sql": "SELECT 1"}}) as api:
        answer = api.http.post("/api/alerts/silent/test")
    assert answer.status_code == 400
    assert "webhook" in answer.json()["detail"]


def test_an_export_shows_how_far_it_has_come(outward: Api, hook: Endpoint) -> None:
    write = MarkWrite(ExportMark(name=NAME, position=0))
    outward.context.db.write(write).result(10)
    record_result(outward)
    assert outward.get("/api/exports")["items"][0]["waiting"] == 1
    export_once(outward)
    (state,) = outward.get("/api/exports")["items"]
    assert (state["sent"], state["waiting"], state["last_error"]) == (1, 0, None)
    assert state["endpoint"] == hook.url
    text = outward.http.get("/metrics").text
    assert 'tracejury_export_results_total{result="sent"} 1.0' in text
    assert "tracejury_export_waiting 0.0" in text


def export_once(api: Api) -> None:
    async def run() -> None:
        settings = api.context.config.export.otlp
        transport = open_transport(settings)
        await Exporter(api.context.db, settings, transport, "1", lambda: START_NS).step()
        await transport.close()

    asyncio.run(run())


def test_without_alerts_and_exports_the_lists_are_empty(shared: Api) -> None:
    assert shared.get("/api/alerts")["items"] == []
    assert shared.get("/api/exports")["items"] == []


def test_alerts_are_counted_in_the_metrics(outward: Api) -> None:
    look(outward)
    text = outward.http.get("/metrics").text
    assert 'tracejury_alert_firing{alert="always"} 1.0' in text
    assert 'tracejury_alert_failing{alert="always"} 0.0' in text
    assert 'tracejury_alert_deliveries{status="delivered"} 1.0' in text


def test_the_log_of_deliveries_is_a_view(outward: Api) -> None:
    look(outward)
    query: dict[str, Any] = {"sql": "SELECT alert, event, status FROM alert_deliveries"}
    rows = outward.http.post("/api/sql", json=query).json()["rows"]
    assert rows == [["always", "firing", "delivered"]]


def test_the_command_line_shows_alerts(outward: Api) -> None:
    look(outward)
    with served(outward) as url:
        listed = run("alerts", url=url)
        assert listed.exit_code == 0
        assert "always" in listed.stdout
        assert "firing" in listed.stdout
        shown = run("alerts", "always", url=url)
        assert "SELECT 42 AS answer" in shown.stdout
        assert "delivered" in shown.stdout
        assert "hidden" not in listed.stdout + shown.stdout
        tested = run("alerts", "always", "--test", "--json", url=url)
        assert json.loads(tested.stdout)["event"] == "test"
        assert run("alerts", "none", url=url).exit_code == 2
        assert run("alerts", "--test", url=url).exit_code == 2
        named = json.loads(run("alerts", "quality: low", "--json", url=url).stdout)
        assert named["name"] == "quality: low"


def test_the_command_line_shows_exports(outward: Api) -> None:
    with served(outward) as url:
        shown = run("exports", url=url)
        assert "http/protobuf" in shown.stdout
        assert "hidden" not in shown.stdout
        assert json.loads(run("exports", "--json", url=url).stdout)["items"][0]["name"] == "otlp"


def test_the_client_reads_what_the_service_writes(outward: Api) -> None:
    look(outward)
    with served(outward) as url, Client(url) as client:
        assert [alert.status for alert in client.alerts()] == ["firing", "unknown"]
        assert client.alert("always").deliveries[0].event == "firing"
        assert client.exports()[0].protocol == "http/protobuf"
