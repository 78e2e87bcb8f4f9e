"""A service that redacts: whatever way a secret comes, no byte of the database's files holds it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import httpx
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.helpers.otlp import export_logs, export_traces, make_log, make_span, to_json
from tests.helpers.service import FAST, RunningService, eventually, running_service
from tracejury_evaluators.patterns import MAX_CANDIDATES

SECRETS = {
    "email": "seeded.{0}@secrets.example.com",
    "card": "4111 1111 1111 1111",
    "keys": "sk-proj-seeded{0}abcdefghijklmnopqrst",
    "employee": "EMP-4711{0}",
}
CONFIG = (
    FAST
    + "redact: {patterns: [email, card, keys], custom: {employee: 'EMP-\\d+\\w*'}, "
    + "attributes: [password]}\n"
)
WAYS = ("grpc", "http_protobuf", "http_json", "import_json", "import_protobuf")
EVALUATION = "gen_ai.evaluation.result"


def content(way: str, secret: str) -> dict[str, Any]:
    """Return attributes with the secret in them, plain and in layers of JSON."""
    text = f"this is\n{secret.format(way)}."
    messages = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.tool.call.arguments": json.dumps({"inner": json.dumps({"mail": text})}),
        "llm.unheard_of.prompt": text,
        "session.id": secret.format(way),
        "db.login": json.dumps({"password": f"hunter2-{way}"}),
    }


def traces(way: str, number: int, secret: str) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="owner").value.string_value = secret.format(way)
    span = make_span(1, trace_id=number.to_bytes(16, "big"), name=f"run {secret.format(way)}")
    for key, value in content(way, secret).items():
        span.attributes.add(key=key).value.string_value = value
    span.status.message = f"failed for {secret.format(way)}"
    event = span.events.add(name=EVALUATION)
    event.attributes.add(key="gen_ai.evaluation.name").value.string_value = "correct"
    event.attributes.add(key="gen_ai.evaluation.score.label").value.string_value = "pass"
    event.attributes.add(key="gen_ai.evaluation.explanation").value.string_value = secret.format(
        way
    )
    resource.scope_spans.add().spans.append(span)
    return request


def logs(way: str, number: int, secret: str) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    log = make_log(1, trace_id=number.to_bytes(16, "big"), event_name="gen_ai.user.message")
    log.body.kvlist_value.values.add(key="content").value.string_value = secret.format(way)
    request.resource_logs.add().scope_logs.add().log_records.append(log)
    return request


def send(service: RunningService, way: str, request: Any, signal_name: str) -> None:
    """Send a request the way that is meant; it must be taken."""
    binary, text = request.SerializeToString(), json.dumps(to_json(request)).encode()
    if way == "grpc":
        with grpc.insecure_channel(service.grpc) as channel:
            export = export_traces if signal_name == "traces" else export_logs
            export(channel)(request, timeout=10)
        return
    to_port = f"{service.otlp_http}/v1/{signal_name}"
    to_import = f"{service.api}/api/traces/import"
    url, body, media_type = {
        "http_protobuf": (to_port, binary, "application/x-protobuf"),
        "http_json": (to_port, text, "application/json"),
        "import_json": (to_import, text, "application/x-ndjson"),
        "import_protobuf": (to_import, binary, "application/x-protobuf"),
    }[way]
    answer = httpx.post(url, content=body, headers={"content-type": media_type}, timeout=10)
    assert answer.status_code == 200, answer.text


def seeded() -> list[bytes]:
    """Return what no file may hold."""
    values = [secret.format(way) for secret in SECRETS.values() for way in (*WAYS, "label", "file")]
    return [value.encode() for value in values] + [b"hunter2"]


def test_no_byte_of_the_database_holds_a_secret_and_it_is_told_what_was_taken_out(
    tmp_path: Path,
) -> None:
    secret = " and ".join(SECRETS.values())
    with running_service(tmp_path, CONFIG) as service:
        for number, way in enumerate(WAYS, 1):
            send(service, way, traces(way, number, secret), "traces")
            send(service, way, logs(way, number, secret), "logs")
        _import_file(service, tmp_path, traces("file", len(WAYS) + 1, secret))
        _label(service)
        _too_much_is_rejected(service)
        done = "SELECT count(*) FROM traces WHERE status = 'complete'"
        count = len(WAYS) + 2
        eventually(lambda: service.sql(done) == [[count]], "all are complete", log=service.log)
        _is_told(service)
        held = _database(tmp_path)
    held += _database(tmp_path)
    held += (tmp_path / "service.log").read_bytes()
    assert b"[redacted:email]" in held
    assert [value for value in seeded() if value in held] == []


def _database(folder: Path) -> bytes:
    """Return every byte of the database's files."""
    return b"".join(
        path.read_bytes()
        for start in folder.glob("tracejury.duckdb*")
        for path in (start.rglob("*") if start.is_dir() else [start])
    )


def _import_file(service: RunningService, folder: Path, request: Any) -> None:
    line = json.dumps(to_json(request)).encode()
    (folder / "old.jsonl.gz").write_bytes(gzip.compress(line))
    command = [sys.executable, "-m", "tracejury.cli", "import", str(folder / "old.jsonl.gz")]
    environment = {"XDG_STATE_HOME": str(folder / "state"), "TRACEJURY_URL": service.api}
    subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True)


def _label(service: RunningService) -> None:
    label = {
        "trace_id": f"{1:032x}",
        "name": "correct",
        "value": True,
        "comment": "ask " + SECRETS["email"].format("label"),
        "author": SECRETS["email"].format("label"),
    }
    stored = httpx.post(f"{service.api}/api/labels", json=label, timeout=10).json()["items"][0]
    assert (stored["comment"], stored["author"]) == ("ask [redacted:email]", "[redacted:email]")
    refused = {**label, "label_id": SECRETS["email"].format("label")}
    answer = httpx.post(f"{service.api}/api/labels", json=refused, timeout=10)
    assert answer.status_code == 422
    assert "label_id holds what is redacted here (email)" in answer.json()["detail"]


def _too_much_is_rejected(service: RunningService) -> None:
    """A span that cannot be looked through is not stored; its neighbor is."""
    request = traces("http_json", 99, "x")
    request.resource_spans[0].scope_spans[0].spans.add().CopyFrom(
        make_span(9, name="a@b.example " * (MAX_CANDIDATES + 1))
    )
    answer = httpx.post(
        f"{service.otlp_http}/v1/traces",
        content=json.dumps(to_json(request)),
        headers={"content-type": "application/json"},
        timeout=20,
    ).json()
    assert int(answer["partialSuccess"]["rejectedSpans"]) == 1
    assert "looked through" in answer["partialSuccess"]["errorMessage"]


REDACTED = "[redacted:email] and [redacted:card] and [redacted:keys] and [redacted:employee]"


def _is_told(service: RunningService) -> None:
    trace = service.get(f"/api/traces/{1:032x}")
    assert trace["flags"]["redacted"] is True
    assert trace["input_text"] == f"this is\n{REDACTED}."
    assert trace["session_id"] == REDACTED
    attributes = trace["spans"][0]["attributes"]
    assert attributes["tracejury.redacted"] == sorted([*SECRETS, "attribute"])
    arguments = json.loads(attributes["gen_ai.tool.call.arguments"])
    assert json.loads(arguments["inner"]) == {"mail": f"this is\n{REDACTED}."}
    comments = {label["comment"] for label in trace["labels"]}
    assert comments == {"ask [redacted:email]", REDACTED}
    unread = service.sql(
        "SELECT example FROM unread_attributes WHERE key = 'llm.unheard_of.prompt'"
    )
    assert "[redacted:" in unread[0][0]
    metrics = service.client.get(f"{service.api}/metrics").text
    for name in (*SECRETS, "attribute"):
        assert f'tracejury_redactions_total{{pattern="{name}"}}' in metrics
    assert 'signal="redacted"' not in metrics
