"""Batches are read from where they lie in the journal; what does not lie there is told apart."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tests.helpers.store import span_row, span_table
from tracejury_collector.entries import Entry, pack, unpack
from tracejury_collector.errors import MalformedRequest
from tracejury_collector.receive.decoding import to_ipc
from tracejury_collector.store import intake
from tracejury_collector.store.intake import Places, read_batch

FILE = "000000000001.segment"


def entry(*ids: int) -> bytes:
    """Return an entry of spans with these ids."""
    table = span_table(span_row(span_id=f"{i:016x}") for i in ids)
    return pack(Entry({"n": "x" * ids[0]}, bytes(to_ipc(table))))


def place(folder: Path, file: str, *ranges: tuple[int, int]) -> Places:
    """Return these ranges of the file that is there now."""
    return Places(file, (folder / file).stat().st_ino, ranges)


def ids_of(table: pa.Table) -> list[int]:
    """Return the ids of the spans."""
    return [int(str(span_id), 16) for span_id in table["span_id"].to_pylist()]


def test_entries_are_read_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    packed = [entry(1, 2), entry(3), entry(4, 5)]
    ends = [sum(map(len, packed[: n + 1])) for n in range(3)]
    (tmp_path / FILE).write_bytes(b"".join(packed))
    (tmp_path / "other").write_bytes(entry(6))
    other = place(tmp_path, "other", (0, len(entry(6))))
    all_of_it = [place(tmp_path, FILE, (0, ends[2])), other]
    assert ids_of(read_batch(tmp_path, "spans", all_of_it, 6)) == [1, 2, 3, 4, 5, 6]
    some = place(tmp_path, FILE, (ends[1], ends[2]), (0, ends[0]))
    found = read_batch(tmp_path, "spans", [other, some], 5)
    assert ids_of(found) == [6, 4, 5, 1, 2]
    assert {column.num_chunks for column in found.columns} == {1}


@pytest.mark.parametrize("before", range(8))
def test_rows_may_begin_anywhere(tmp_path: Path, before: int) -> None:
    (tmp_path / FILE).write_bytes(b"?" * before + entry(1, 2))
    places = place(tmp_path, FILE, (before, before + len(entry(1, 2))))
    table = read_batch(tmp_path, "spans", [places], 2)
    table.validate(full=True)
    assert ids_of(table) == [1, 2]


@pytest.mark.parametrize(
    ("data", "ranges", "why"),
    [
        pytest.param(b"", [(0, 9)], "cannot be read from byte 0", id="cleared"),
        pytest.param(entry(1)[:-1], [(0, len(entry(1)))], "from byte 0", id="cut short"),
        pytest.param(entry(1)[:-1] + b"?", [(0, len(entry(1)))], "from byte 0", id="changed"),
        pytest.param(entry(1) + b"?", [(0, len(entry(1)) + 1)], "from byte", id="more than told"),
        pytest.param(entry(1), [(1, len(entry(1)))], "from byte 1", id="in the middle"),
        pytest.param(entry(1), [], "2 rows were announced", id="too few"),
        pytest.param(entry(1, 2, 3), [(0, len(entry(1, 2, 3)))], "2 rows were", id="too many"),
    ],
)
def test_what_is_not_there_as_it_was_told_is_refused(
    tmp_path: Path, data: bytes, ranges: list[tuple[int, int]], why: str
) -> None:
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(MalformedRequest, match=why):
        read_batch(tmp_path, "spans", [place(tmp_path, FILE, *ranges)], 2)


def test_a_file_that_is_gone_or_another_one_is_refused_for_good(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(entry(1))
    places = place(tmp_path, FILE, (0, len(entry(1))))
    (tmp_path / FILE).rename(tmp_path / "moved")
    with pytest.raises(MalformedRequest, match="not in the journal"):
        read_batch(tmp_path, "spans", [places], 1)
    (tmp_path / FILE).write_bytes(entry(2))
    with pytest.raises(MalformedRequest, match="not in the journal"):
        read_batch(tmp_path, "spans", [places], 1)


@pytest.mark.parametrize(("number", "final"), [(errno.EIO, True), (errno.EMFILE, False)])
def test_a_disk_that_cannot_read_is_refused_for_good_and_other_faults_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, final: bool
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, "no")

    (tmp_path / FILE).write_bytes(entry(1))
    places = place(tmp_path, FILE, (0, len(entry(1))))
    monkeypatch.setattr(intake, "os", SimpleNamespace(fstat=fail))
    with pytest.raises(MalformedRequest if final else OSError, match="no"):
        read_batch(tmp_path, "spans", [places], 1)


def test_rows_that_end_too_soon_are_refused_for_good(tmp_path: Path) -> None:
    found = next(unpack(memoryview(entry(1, 2)))).entry
    cut = pack(Entry(found.header, bytes(found.payload)[:-200]))
    (tmp_path / FILE).write_bytes(cut)
    with pytest.raises((MalformedRequest, pa.ArrowException)):
        read_batch(tmp_path, "spans", [place(tmp_path, FILE, (0, len(cut)))], 2)


def test_rows_of_two_versions_go_into_one_batch(tmp_path: Path) -> None:
    table = span_table([span_row(span_id=f"{7:016x}")]).drop_columns(["model"])
    older = pack(Entry({}, bytes(to_ipc(table))))
    (tmp_path / FILE).write_bytes(older + entry(1))
    places = place(tmp_path, FILE, (0, len(older) + len(entry(1))))
    found = read_batch(tmp_path, "spans", [places], 2)
    assert ids_of(found) == [7, 1]
    assert found["model"].to_pylist()[0] is None
