"""Real exports, replayed over their own protocol into a running service, come back as facts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from tests.helpers.corpus import CORPUS, NOT_RECORDED, case_names, read_case, read_expected
from tests.helpers.differences import differences
from tests.helpers.docs import sql_examples, view_comments
from tests.helpers.service import RunningService, eventually, running_service

NOT_IN_THE_CORPUS = ("labels", "'no-loops'", "INTERVAL 1 DAY", "documents", "outcome <> ")
"""What of the examples can find nothing: nobody labeled, nothing was recorded today."""
SETTINGS = "completion: {after_root: 500ms, idle: 1s, tick: 50ms}\n"


def replay(service: RunningService, folder: Path, signal: str = "traces") -> None:
    """Send the request bodies of a capture as they were recorded, in their order."""
    for meta_path in sorted(folder.glob("*.meta.json")):
        meta = json.loads(meta_path.read_text())
        name = meta_path.name.split(".")[0]
        body = next(p for p in folder.glob(name + ".*") if p != meta_path).read_bytes()
        if meta["protocol"] == "grpc":
            replay_grpc(service, body)
            continue
        answer = service.client.post(
            f"{service.otlp_http}/v1/{signal}",
            content=body,
            headers={"content-type": meta["content_type"]},
        )
        assert answer.status_code == 200, answer.text
        if b"the trace id" not in answer.content or signal == "traces":
            assert answer.content in (b"", b"{}"), "only logs of no trace are rejected"


def replay_grpc(service: RunningService, body: bytes) -> None:
    with grpc.insecure_channel(service.grpc) as channel:
        request = ExportTraceServiceRequest.FromString(body)
        answer = TraceServiceStub(channel).Export(request, timeout=30)  # type: ignore[no-untyped-call]
    assert not answer.partial_success.rejected_spans


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that has received every case and finished every trace."""
    with running_service(tmp_path_factory.mktemp("corpus"), SETTINGS) as running:
        for name in case_names():
            replay(running, CORPUS / "captures" / name)
            replay(running, CORPUS / "captures" / name / "logs", "logs")
        eventually(
            lambda: running.sql("SELECT count(*) FROM traces WHERE status = 'open'") == [[0]],
            "every trace is finished",
            log=running.log,
        )
        yield running


def traces_of(service: RunningService, name: str) -> list[dict[str, Any]]:
    spans, _ = read_case(CORPUS / "captures" / name)
    ids = {span.trace_id: None for span in spans}
    return [service.get(f"/api/traces/{trace_id}") for trace_id in ids]


@pytest.mark.parametrize("name", case_names())
def test_a_replayed_case_has_the_facts_that_happened(service: RunningService, name: str) -> None:
    expected = {
        key: fact for key, fact in read_expected(name).items() if (name, key) not in NOT_RECORDED
    }
    assert differences(expected, traces_of(service, name)) == []


def test_every_run_is_judged_by_the_default_jury(service: RunningService) -> None:
    eventually(
        lambda: (
            service.sql(
                "SELECT count(*) FROM traces t WHERE NOT EXISTS"
                " (SELECT 1 FROM decisions d WHERE d.target_id = t.trace_id)"
            )
            == [[0]]
        ),
        "every trace is decided",
        log=service.log,
    )
    selected = service.sql(
        "SELECT count(DISTINCT target_id) FROM decisions WHERE outcome = 'selected'"
    )[0][0]
    assert selected > 0
    eventually(
        lambda: service.sql("SELECT count(DISTINCT trace_id) FROM scores_history") == [[selected]],
        "every selected trace is judged",
        log=service.log,
    )
    assert service.sql("SELECT count(*) FROM scores_history WHERE outcome = 'failure'") == [[0]]


@pytest.mark.parametrize("statement", sql_examples())
def test_every_example_of_the_sql_page_answers(service: RunningService, statement: str) -> None:
    rows = service.sql(statement)
    assert rows or any(word in statement for word in NOT_IN_THE_CORPUS)


def test_a_column_of_which_no_null_is_told_holds_none(service: RunningService) -> None:
    never = {
        view: [name for name, text in columns.items() if text.endswith("; never NULL")]
        for view, columns in json.loads(view_comments()).items()
    }
    assert sum(map(len, never.values())) > 150
    for view, columns in never.items():
        nulls = ", ".join(f'count(*) - count("{column}")' for column in columns)
        ((*found,),) = service.sql(f"SELECT {nulls} FROM {view}")
        assert dict(zip(columns, found, strict=True)) == dict.fromkeys(columns, 0), view


def test_sent_again_nothing_is_stored_twice(service: RunningService) -> None:
    before = service.sql("SELECT count(*) FROM spans")
    replay(service, CORPUS / "captures" / "oi_langgraph")
    assert service.sql("SELECT count(*) FROM spans") == before


def test_what_was_recorded_is_read_again_as_it_was(service: RunningService) -> None:
    answer = service.client.post(f"{service.api}/api/renormalizations", json={"dry_run": True})
    assert answer.status_code == 202, answer.text
    path = f"/api/renormalizations/{answer.json()['id']}"
    eventually(lambda: service.get(path)["state"] == "done", "all is read again", log=service.log)
    report = service.get(path)["report"]
    assert (report["columns"], report["unreadable"]) == ({}, 0)
    assert report["spans"] == service.sql("SELECT count(*) FROM spans")[0][0]
    assert report["traces"] == service.sql("SELECT count(*) FROM traces")[0][0]
