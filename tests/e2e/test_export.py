"""Results of one real service reach another, through kills of the store."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.helpers.senders import trace_request
from tests.helpers.service import FAST, RunningService, eventually, running_service

TRACES = 30
RULES = """evaluators:
  fast: {type: latency-budget, config: {budget_ms: 5000}}
  faster: {type: latency-budget, config: {budget_ms: 0.001}}
rules: {default: {evaluators: [fast, faster]}}
"""
SENT = (
    "SELECT count(*), count(DISTINCT attributes ->> 'tracejury.result.id') FROM logs "
    "WHERE event_name = 'gen_ai.evaluation.result'"
)
BATCH, KILLS = 5, 3


def send(service: RunningService, first: int, last: int) -> None:
    for number in range(first, last + 1):
        taken = partial(is_taken, f"{service.otlp_http}/v1/traces", trace_request(number))
        eventually(taken, "the span is taken", log=service.log)


def is_taken(url: str, body: bytes) -> bool:
    headers = {"content-type": "application/x-protobuf"}
    try:
        return httpx.post(url, content=body, headers=headers).status_code == 200
    except httpx.TransportError:
        return False


def is_judged(service: RunningService) -> bool:
    try:
        rows = service.sql("SELECT count(*) FROM scores")
    except (httpx.TransportError, AssertionError):
        return False
    return bool(rows[0][0] == 2 * TRACES)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_results_reach_another_service_through_kills_of_the_store(
    tmp_path: Path, protocol: str
) -> None:
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    with running_service(tmp_path / "to", FAST + "rules: {}\n") as other:
        endpoint = other.otlp_http if protocol == "http/protobuf" else f"http://{other.grpc}"
        otlp = {"endpoint": endpoint, "protocol": protocol, "tick": 0.1, "batch": BATCH}
        config = f"{FAST}{RULES}export: {json.dumps({'otlp': otlp})}\n"
        with running_service(tmp_path / "from", config) as service:
            for part in range(KILLS):
                first = 1 + part * TRACES // KILLS
                send(service, first, first + TRACES // KILLS - 1)
                service.children()["store"].kill()
                eventually(service.is_ready, "the service is back", log=service.log)
            eventually(lambda: is_judged(service), "all is judged", timeout_s=40, log=service.log)
            wanted = 2 * TRACES
            eventually(lambda: other.sql(SENT)[0][1] == wanted, "all has arrived", log=service.log)
            assert other.sql(SENT) == [[wanted, wanted]]
            counts = other.client.get(f"{other.api}/metrics").text
            repeated = re.search(r'_records_total{result="duplicate",signal="logs"} (\d+)', counts)
            assert repeated is None or int(repeated[1]) <= BATCH * KILLS
            (state,) = service.get("/api/exports")["items"]
            assert state["rejected"] == state["dropped"] == 0
