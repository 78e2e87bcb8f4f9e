"""From the journal to the store: batches, what the store refuses, and what was left by others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from tests.helpers.fake_store import failed
from tests.helpers.otlp import encoded, make_span, request_of
from tests.helpers.receiver import RunningReceiver, running_receiver
from tests.helpers.receiver import left_entry as entry
from tracejury_collector.entries import Entry, pack
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive import segments
from tracejury_collector.receive.decoding import to_ipc

PROTOBUF = {"content-type": "application/x-protobuf"}


def send(receiver: RunningReceiver, *numbers: int) -> int:
    """Send a request of these spans; return the status of the answer."""
    body = encoded(request_of(*map(make_span, numbers)), "protobuf")
    answer = httpx.post(f"{receiver.http_url}/v1/traces", content=body, headers=PROTOBUF)
    return answer.status_code


def post(receiver: RunningReceiver, *numbers: int) -> None:
    """Send a request of these spans, which is taken."""
    assert send(receiver, *numbers) == 200


def appends(receiver: RunningReceiver) -> list[int]:
    """Return how many rows each batch had that went to the store."""
    receiver.settle()
    return [each["rows"] for each in receiver.store.requests if each["op"] == "append"]


def keep_busy(receiver: RunningReceiver) -> None:
    """Have the store take its time over span 1: what comes now waits."""
    receiver.call(receiver.store.hold.clear)
    post(receiver, 1)
    receiver.wait_for(lambda: receiver.store.requests)


def rejected(receiver: RunningReceiver) -> int:
    """Return how many spans were given up."""
    return receiver.store.accounts.get("spans", Counter())["rejected"]


def leave(folder: Path, *entries: Entry) -> None:
    """Put entries where a receiver that died would have left them."""
    journal = folder / "tracejury.duckdb.journal"
    journal.mkdir()
    (journal / "000000000007.segment").write_bytes(b"".join(map(pack, entries)))


def test_what_comes_while_the_store_commits_goes_to_it_in_one_batch(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        keep_busy(receiver)
        for number in range(2, 12):
            post(receiver, number)
        receiver.call(receiver.store.hold.set)
        assert appends(receiver) == [1, 10]
        assert {row["name"] for row in receiver.rows()} == {f"span {n}" for n in range(1, 12)}


def test_a_request_that_the_store_refuses_for_good_is_set_aside_and_counted(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        answer = receiver.store.answer

        def refuse_three(header: dict[str, Any]) -> dict[str, Any] | None:
            if header["op"] == "append" and header["rows"] >= 3:
                return failed(header, "no", retry=False)
            return answer(header)

        receiver.store.answer = refuse_three
        keep_busy(receiver)
        post(receiver, 2)
        post(receiver, 3, 4, 5)
        post(receiver, 6)
        receiver.call(receiver.store.hold.set)
        assert appends(receiver) == [1, 5, 1, 3, 1], "together, then one by one"
        assert rejected(receiver) == 3
        (aside,) = tmp_path.glob("tracejury.duckdb.journal.damaged-*")
        assert b"span 4" in aside.read_bytes()


def test_what_a_receiver_left_goes_to_the_store_before_anything_new(tmp_path: Path) -> None:
    leave(tmp_path, entry(1), entry(2))
    with running_receiver(tmp_path) as receiver:
        assert [row["name"] for row in receiver.rows()] == ["span 1", "span 2"]
        assert list(receiver.journal.iterdir()) == []


def test_what_another_version_left_gets_the_columns_of_this_one(tmp_path: Path) -> None:
    found = entry(1)
    table = pa.ipc.open_stream(pa.py_buffer(found.payload)).read_all()
    older = table.drop_columns(["model"]).append_column("gone", pa.array(["x"]))
    leave(tmp_path, Entry(found.header, bytes(to_ipc(older))))
    with running_receiver(tmp_path) as receiver:
        (row,) = receiver.rows()
        assert (row["name"], row["model"], "gone" in row) == ("span 1", None, False)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Entry({"of": "something else"}, b""), id="another header"),
        pytest.param(entry(1)._replace(payload=b"no Arrow"), id="no rows"),
        pytest.param(entry(1, signal="dreams"), id="unknown signal"),
        pytest.param(entry(1, rows=-1), id="negative"),
        pytest.param(entry(1, rows="1"), id="text for a number"),
    ],
)
def test_what_makes_no_sense_is_set_aside_and_holds_nobody_up(
    tmp_path: Path, broken: Entry
) -> None:
    leave(tmp_path, broken, entry(2))
    with running_receiver(tmp_path) as receiver:
        assert [row["name"] for row in receiver.rows()] == ["span 2"]
        (aside,) = tmp_path.glob("tracejury.duckdb.journal.damaged-*")
        assert aside.read_bytes() == pack(broken)
        assert len(receiver.store.hellos) == 1, "the store keeps the connection"


def test_what_somebody_takes_out_of_the_journal_is_set_aside_and_the_next_is_stored(
    tmp_path: Path,
) -> None:
    with running_receiver(tmp_path) as receiver:
        keep_busy(receiver)
        post(receiver, 2)
        for segment in receiver.journal.iterdir():
            segment.unlink()
        post(receiver, 3)
        receiver.call(receiver.store.hold.set)
        assert {row["name"] for row in receiver.rows()} == {"span 1", "span 3"}
        receiver.wait_for(lambda: rejected(receiver))
        (aside,) = tmp_path.glob("tracejury.duckdb.journal.damaged-*")
        assert b"span 2" in aside.read_bytes()
        assert rejected(receiver) == 1


def test_what_was_removed_is_not_taken_for_what_came_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_receiver(tmp_path) as receiver:
        keep_busy(receiver)
        post(receiver, 2)
        with monkeypatch.context() as patch:
            patch.setattr(segments, "check_room", no_room)
            assert send(receiver, 9) == 503
        for segment in receiver.journal.iterdir():
            segment.unlink()
        post(receiver, 3)
        post(receiver, 4)
        receiver.call(receiver.store.hold.set)
        receiver.wait_for(lambda: rejected(receiver))
        assert {row["name"] for row in receiver.rows()} == {"span 1", "span 3", "span 4"}
        (aside,) = tmp_path.glob("tracejury.duckdb.journal.damaged-*")
        assert b"span 2" in aside.read_bytes()


def test_a_journal_that_somebody_moves_is_made_anew(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        post(receiver, 1)
        receiver.settle()
        receiver.journal.rename(tmp_path / "elsewhere")
        for number in range(2, 6):
            post(receiver, number)
        receiver.wait_for(lambda: len(receiver.store.rows()) == 5)
        assert list(tmp_path.glob("tracejury.duckdb.journal.damaged-*")) == []


def test_a_segment_that_cannot_be_read_stays_and_holds_nobody_up(tmp_path: Path) -> None:
    leave(tmp_path, entry(1))
    (tmp_path / "tracejury.duckdb.journal" / "a folder.segment").mkdir()
    with running_receiver(tmp_path) as receiver:
        receiver.wait_for(lambda: receiver.store.rows())
        assert [row["name"] for row in receiver.store.rows()] == ["span 1"]


def no_room(path: Path) -> None:
    """Say that the disk is full."""
    raise Unavailable(f"no room for {path}")
