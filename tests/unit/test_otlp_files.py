"""OTLP files become pieces that fit a request; nothing of them is lost or sent twice."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracejury import otlp_pieces
from tracejury.import_journal import Journal
from tracejury.otlp_files import found_files, pieces_of
from tracejury.otlp_pieces import (
    FRAMES,
    JSON,
    JSON_LINES,
    PROTOBUF,
    Piece,
    read_pieces,
    unframed,
)

DOCUMENT = json.dumps({"resourceSpans": []}).encode()
PRETTY = json.dumps({"resourceSpans": [{"scopeSpans": []}]}, indent=2).encode()
NUMBERS = b"".join(b'{"n":%d}\n' % n for n in range(60)) + b'{"n":60}'


def protobuf() -> bytes:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(name="run")
    return bytes(request.SerializeToString())


def framed(*messages: bytes) -> bytes:
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)


def pieces(content: bytes, name: str = "", after: int = 0) -> list[Piece]:
    return list(read_pieces(io.BytesIO(content), name, after))


@pytest.mark.parametrize(
    ("name", "content", "content_type"),
    [
        ("a.json", DOCUMENT, JSON),
        ("a.json", PRETTY, JSON),
        ("a.json", b"\xef\xbb\xbf\n" + PRETTY, JSON),
        ("a.json", DOCUMENT + b"\n" + DOCUMENT + b"\n", JSON_LINES),
        ("a.json", b'{"cut\n' + DOCUMENT + b"\n", JSON_LINES),
        ("a.jsonl", DOCUMENT + b"\n", JSON_LINES),
        ("a.pb", protobuf(), PROTOBUF),
        ("traces", protobuf(), PROTOBUF),
        ("traces", DOCUMENT, JSON),
        ("traces", framed(protobuf(), protobuf()), FRAMES),
        ("traces.json", framed(zstandard.compress(DOCUMENT)), FRAMES),
        ("traces.json", framed(DOCUMENT), FRAMES),
    ],
)
def test_the_content_type_follows_from_the_name_or_the_content(
    tmp_path: Path, name: str, content: bytes, content_type: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert [(piece.content_type, piece.body) for piece in pieces_of(path)] == [
        (content_type, content)
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_pieces, "REQUEST_BYTES", 100)
    monkeypatch.setattr(otlp_pieces, "MAX_PIECE_BYTES", 300)


@pytest.mark.parametrize("content", [NUMBERS, framed(*NUMBERS.split(b"\n"))])
@pytest.mark.usefixtures("small")
def test_a_file_is_cut_between_lines_or_messages_and_can_be_gone_on_with(content: bytes) -> None:
    found = pieces(content)
    assert b"".join(piece.body for piece in found) == content
    assert len(found) > 3
    assert all(len(piece.body) <= 100 for piece in found)
    assert sum(piece.count for piece in found) == 61
    first = 1
    for number, piece in enumerate(found):
        assert piece.first == first
        first += piece.count
        assert pieces(content, after=piece.end) == found[number + 1 :]


@pytest.mark.usefixtures("small")
def test_a_line_or_document_that_is_too_long_is_told_and_costs_itself() -> None:
    found = pieces(b'{"n":1}\n' + b"x" * 1000 + b'\n{"n":3}', "a.jsonl")
    assert [(piece.first, piece.body) for piece in found] == [
        (1, b'{"n":1}\n'),
        (2, b""),
        (3, b'{"n":3}'),
    ]
    assert "longer than" in found[1].problem
    assert [piece.problem[:20] for piece in pieces(b"[" + b"1" * 400)] == [
        "is one document of mo"[:20]
    ]


@pytest.mark.parametrize(
    ("end", "said"), [(b"\0\0\1", "no valid length"), (b"\0\0\0\x09abc", "cut short")]
)
def test_frames_that_end_too_early_are_told(end: bytes, said: str) -> None:
    good, bad = pieces(framed(protobuf(), protobuf()) + end)
    assert list(unframed(good.body)) == [protobuf()] * 2
    assert (bad.first, said in bad.problem) == (3, True)


def _compressed(content: bytes) -> Iterator[tuple[str, bytes]]:
    yield "a.json.gz", gzip.compress(content)
    yield "b.jsonl.gz", gzip.compress(content[:100]) + gzip.compress(content[100:])
    yield "c.jsonl.zst", zstandard.compress(content)
    yield "d", zstandard.compress(content[:200]) + zstandard.compress(content[200:])


def test_compressed_files_are_read_as_what_they_hold(tmp_path: Path) -> None:
    for name, content in _compressed(NUMBERS):
        path = tmp_path / name
        path.write_bytes(content)
        told: list[int] = []
        found = list(pieces_of(path, advance=told.append))
        assert [(piece.content_type, piece.body) for piece in found] == [(JSON_LINES, NUMBERS)], (
            name
        )
        assert sum(told) == len(content)


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_what_is_cut_off_in_the_middle_of_its_compression_is_read_up_to_there(
    tmp_path: Path, compress: object
) -> None:
    content = b"".join(b'{"n":%d}\n' % (n * 7919 % 100_003) for n in range(60_000))
    path = tmp_path / "a.jsonl"
    path.write_bytes(compress(content)[:-5000])  # type: ignore[operator]
    *good, bad = pieces_of(path)
    read = b"".join(piece.body for piece in good)
    assert content.startswith(read)
    assert len(read) > len(content) // 2
    assert "cannot be decompressed" in bad.problem


def test_folders_are_searched_for_files_that_may_hold_otlp(tmp_path: Path) -> None:
    names = [
        "b.json",
        "a/z.jsonl.gz",
        "a/c.pb",
        "notes.txt",
        ".hidden/x.json",
        "a/.y.json",
        "x.zip",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = found_files([tmp_path, tmp_path / "notes.txt", tmp_path / "b.json"])
    relative = [str(path.relative_to(tmp_path)) for path in found]
    assert relative == ["a/c.pb", "a/z.jsonl.gz", "b.json", "notes.txt"]


def test_the_journal_knows_files_by_their_beginning_and_outlives_torn_lines(tmp_path: Path) -> None:
    folder, path, other = tmp_path / "state", tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_bytes(NUMBERS)
    other.write_bytes(b"other")
    journal = Journal("d1", folder)
    assert journal.done(path) == 0
    journal.note(path, 100)
    journal.note(other, 5)
    journal.note(path, 200)
    file = folder / "d1.jsonl"
    file.write_bytes(file.read_bytes()[:-3])
    again = Journal("d1", folder)
    assert (again.done(path), again.done(other)) == (100, 5)
    assert Journal("d2", folder).done(path) == 0
    path.write_bytes(NUMBERS + b'\n{"n":61}\n')
    assert again.done(path) == 100
    path.write_bytes(b"new" + NUMBERS)
    assert again.done(path) == 0
    again.note(path, 50)
    assert Journal("d1", folder).done(path) == 50


def test_a_journal_that_cannot_be_written_is_told_and_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(NUMBERS)
    journal = Journal("d1", path)
    journal.note(path, 10)
    journal.note(path, 20)
    assert journal.problem
    assert journal.done(path) == 20
