"""OTLP files become requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracejury import otlp_files
from tracejury.otlp_files import JSON, JSON_LINES, PROTOBUF, read_requests

DOCUMENT = json.dumps({"resourceSpans": []}).encode()
PRETTY = json.dumps({"resourceSpans": [{"scopeSpans": []}]}, indent=2).encode()


def protobuf() -> bytes:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(name="run")
    return bytes(request.SerializeToString())


@pytest.mark.parametrize(
    ("name", "content", "content_type"),
    [
        ("a.json", DOCUMENT, JSON),
        ("a.json", PRETTY, JSON),
        ("a.json", b"\xef\xbb\xbf\n" + PRETTY, JSON),
        ("a.json", DOCUMENT + b"\n" + DOCUMENT + b"\n", JSON_LINES),
        ("a.jsonl", DOCUMENT + b"\n", JSON_LINES),
        ("a.pb", protobuf(), PROTOBUF),
        ("traces", protobuf(), PROTOBUF),
        ("traces", DOCUMENT, JSON),
    ],
)
def test_the_content_type_follows_from_the_name_or_the_content(
    tmp_path: Path, name: str, content: bytes, content_type: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert list(read_requests(path)) == [(content_type, content)]


def test_json_lines_are_cut_between_lines_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_files, "REQUEST_BYTES", 100)
    content = b"".join(b'{"n":%d}\n' % n for n in range(60)) + b'{"n":60}'
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    bodies = [body for _, body in read_requests(path)]
    assert b"".join(bodies) == content
    assert len(bodies) > 3
    assert all(len(body) <= 100 for body in bodies)
    assert all(body.endswith(b"\n") for body in bodies[:-1])
