"""Traces out of files are those that the service would rebuild."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from tests.helpers.corpus import CORPUS, assemble_case, case_names, read_case
from tracejury.codec import dump_trace
from tracejury.errors import TracejuryError
from tracejury.otlp_spans import read_spans
from tracejury.testing import make_document, make_llm_call, make_tool_call, make_trace
from tracejury.testing.telling import telling_traces
from tracejury.trace import SpanRecord, Trace
from tracejury.trace_files import read_traces
from tracejury.view import trace_to_api
from tracejury.view_back import trace_from_api


def captures(name: str) -> list[Path]:
    """The files of a recorded case, traces before logs."""
    folder = CORPUS / "captures" / name
    found = [*sorted(folder.glob("[0-9]*.*")), *sorted((folder / "logs").glob("[0-9]*.json"))]
    return [path for path in found if not path.name.endswith(".meta.json")]


def has_binary_logs(name: str) -> bool:
    return any((CORPUS / "captures" / name / "logs").glob("*.pb"))


SMALL = [name for name in case_names() if not has_binary_logs(name)][::4]


@pytest.mark.parametrize("name", SMALL)
def test_a_recorded_case_is_read_as_the_service_reads_it(name: str) -> None:
    expected, _ = read_case(CORPUS / "captures" / name)
    files = [path for path in captures(name) if path.parent.name != "logs"]
    assert [without_seq(s) for s in read_spans(files)] == [without_seq(s) for s in expected]


def without_seq(span: SpanRecord) -> tuple[object, ...]:
    return tuple(getattr(span, name) for name in SpanRecord.__slots__ if name != "seq")


@pytest.mark.parametrize("name", SMALL)
def test_a_recorded_case_is_rebuilt_from_its_files(name: str) -> None:
    read = {trace.trace_id: trace_to_api(trace) for trace in read_traces(captures(name))}
    assert read == {trace.trace_id: trace_to_api(trace) for trace in assemble_case(name)}


@pytest.mark.parametrize("name", case_names()[::3])
def test_a_trace_of_the_api_is_the_trace_again(name: str) -> None:
    for trace in assemble_case(name):
        document = orjson.loads(orjson.dumps(trace_to_api(trace)))
        assert dump_trace(trace_from_api(document)) == dump_trace(trace)


def test_traces_are_read_as_the_api_and_as_the_codec_write_them(tmp_path: Path) -> None:
    trace = make_trace(
        tool_calls=[make_tool_call("search", {"q": "x"}, {"found": 1})],
        llm_calls=[make_llm_call(tools=["search"])],
        documents=[make_document("text", score=0.5)],
    )
    api, own, lines = tmp_path / "api.json", tmp_path / "own.json", tmp_path / "both.jsonl"
    api.write_bytes(orjson.dumps(trace_to_api(trace), option=orjson.OPT_INDENT_2))
    own.write_bytes(dump_trace(trace))
    lines.write_bytes(orjson.dumps(trace_to_api(trace)) + b"\n" + dump_trace(trace) + b"\n")
    assert read_traces([api])[0].tool_calls[0].output_text == '{"found":1}'
    assert read_traces([own]) == [trace]
    assert len(read_traces([lines])) == 2


def test_spans_that_two_files_share_are_taken_once(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(otlp()))
    (once,) = read_traces([path])
    (twice,) = read_traces([path, path])
    assert twice == once
    assert len(once.spans) == 1


def otlp() -> dict[str, object]:
    span = {
        "traceId": "0AF7651916CD43DD8448EB211C80319C",
        "spanId": "qrvM3e7/ABE=",
        "parentSpanId": "0000000000000000",
        "kind": "SPAN_KIND_CLIENT",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": 1700000001000000000,
        "status": {"code": "STATUS_CODE_ERROR", "message": "no"},
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def test_ids_kinds_and_status_may_be_written_as_generic_protobuf_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(otlp()))
    (span,) = read_spans([path])
    assert span.trace_id == "0af7651916cd43dd8448eb211c80319c"
    assert (span.span_id, span.parent_span_id) == ("aabbccddeeff0011", "")
    assert (span.otel_kind, span.status, span.status_message) == ("client", "error", "no")
    assert span.end_ns - span.start_ns == 1_000_000_000


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1, 2]", "no resourceSpans"),
        ('{"trace_id": "x", "start_time": "yesterday"}', "no time such as"),
        ('{"trace_id": "x", "start_time": null, "spans": [1]}', "no trace of the API"),
        ('{"trace_id": "x", "kind": "poem"}', "is no trace"),
        ('{"resourceSpans": []}', "holds no spans"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "12"}]}]}]}', "traceId"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"kind": "X"}]}]}]}', "is no OTLP"),
    ],
)
def test_a_file_that_holds_no_trace_is_named_with_the_reason(
    tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(content)
    with pytest.raises(TracejuryError, match=said) as raised:
        read_traces([path])
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(("name", "trace"), telling_traces().items())
def test_the_telling_traces_survive_the_api(name: str, trace: Trace) -> None:
    document = json.loads(json.dumps(trace_to_api(trace)))
    back = trace_from_api(document)
    assert trace_to_api(back) == trace_to_api(trace)
