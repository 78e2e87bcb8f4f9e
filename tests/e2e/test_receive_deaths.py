"""Which request the store dies of: found out, set aside and counted; nobody else ever is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_receive_handover import keep_busy, leave, post
from tests.helpers.fake_store import Ending, Rows, failed
from tests.helpers.receiver import RunningReceiver, left_entry, running_receiver
from tracejury_collector.entries import Entry, pack
from tracejury_collector.files import keep_aside
from tracejury_collector.receive import aside, blame, trials
from tracejury_collector.receive.blame import STRIKES, Suspects


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame, "_PAUSES_S", (0.0, 0.01, 0.02))
    monkeypatch.setattr(trials, "_RETRY_S", 0.01)


def dies_of(name: str) -> Any:
    """Return that the store dies of a batch with a span of this name, of which it keeps nothing."""

    def ends_at(header: dict[str, Any], rows: Rows) -> Ending | None:
        return "dies" if any(row["name"] == name for row in rows) else None

    return ends_at


def post_together(receiver: RunningReceiver, *numbers: int) -> None:
    """Send requests of one span each, which go to the store in one batch."""
    keep_busy(receiver)
    for number in numbers:
        post(receiver, number)
    receiver.call(receiver.store.hold.set)


def names(receiver: RunningReceiver) -> list[str]:
    """Return the names of what is stored, in order, once all is settled."""
    return sorted(row["name"] for row in receiver.rows())


def set_aside(folder: Path) -> list[Path]:
    """Return what was set aside."""
    return sorted(folder.glob("tracejury.duckdb.journal.damaged-*"))


def test_the_request_that_the_store_dies_of_is_set_aside_and_all_others_stored_once(
    tmp_path: Path,
) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.store.ends_at = dies_of("span 15")
        post_together(receiver, *range(2, 22))
        assert names(receiver) == sorted(f"span {n}" for n in range(1, 22) if n != 15)
        (kept,) = set_aside(tmp_path)
        assert b"span 15" in kept.read_bytes()
        assert receiver.store.accounts["spans"]["rejected"] == 1
        reasons = [each["reasons"] for each in receiver.store.requests if each["op"] == "account"]
        assert {"the store dies of it": 1} in reasons
        assert len(receiver.store.hellos) == 1 + blame.BATCH_DEATHS + 1 + STRIKES


def test_what_was_set_aside_can_be_put_back(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.store.ends_at = dies_of("span 1")
        post(receiver, 1)
        assert names(receiver) == []
        (kept,) = set_aside(tmp_path)
    kept.rename(receiver.journal / "000000000000.segment")
    with running_receiver(tmp_path) as successor:
        assert names(successor) == ["span 1"]


def test_what_comes_meanwhile_is_stored_before_it_is_known(tmp_path: Path) -> None:
    with running_receiver(tmp_path) as receiver:
        receiver.store.ends_at = dies_of("span 2")
        post(receiver, 2)
        receiver.wait_for(lambda: len(receiver.store.hellos) > blame.BATCH_DEATHS)
        post(receiver, 3)
        assert names(receiver) == ["span 3"]
        assert len(set_aside(tmp_path)) == 1


@pytest.mark.parametrize("ending", ["leaves", "dies"])
def test_a_store_that_ends_whatever_it_is_given_makes_nobody_guilty(
    tmp_path: Path, ending: Ending
) -> None:
    ends: Iterator[Ending | None] = itertools.chain([ending] * 12, itertools.repeat(None))
    with running_receiver(tmp_path) as receiver:
        receiver.store.ends_at = lambda header, rows: next(ends)
        post(receiver, 1)
        assert names(receiver) == ["span 1"]
        assert set_aside(tmp_path) == []
        assert (
            "spans" not in receiver.store.accounts
            or not receiver.store.accounts["spans"]["rejected"]
        )


def test_a_store_that_stops_in_order_is_never_held_against_a_request(tmp_path: Path) -> None:
    stops = itertools.count()
    with running_receiver(tmp_path) as receiver:
        receiver.store.ends_at = lambda header, rows: (
            "leaves" if header["op"] == "append" and next(stops) < 8 else None
        )
        post(receiver, 1)
        assert names(receiver) == ["span 1"]
        assert set_aside(tmp_path) == []
        assert {each["op"] for each in receiver.store.requests} == {"append"}, "nothing is tried"


def test_an_answer_between_two_deaths_begins_the_count_anew(tmp_path: Path) -> None:
    plan = iter(["dies"] * 4 + ["full", "dies", "dies"] * 3)
    with running_receiver(tmp_path) as receiver:
        answer = receiver.store.answer
        full: list[int] = []

        def ends_at(header: dict[str, Any], rows: Rows) -> Ending | None:
            if header["op"] != "append" or (planned := next(plan, None)) is None:
                return None
            full.extend([header["id"]] * (planned == "full"))
            return None if planned == "full" else "dies"

        def answer_full(header: dict[str, Any]) -> dict[str, Any] | None:
            if header["id"] in full:
                return failed(header, "full", retry=True)
            return answer(header)

        receiver.store.ends_at = ends_at
        receiver.store.answer = answer_full
        post(receiver, 1)
        assert names(receiver) == ["span 1"] * 4, "three times it was told to come again"
        assert set_aside(tmp_path) == []


def note(start: int, strikes: int) -> Entry:
    """Return the note that what begins here was on trial alone when its receiver died."""
    trial = Suspects(members=(str(start),), strikes=strikes, life=1)
    return Entry({"note": blame.tried(trial, alone=True)}, b"")


def test_a_request_that_ends_the_receiver_too_is_known_to_the_next_one(tmp_path: Path) -> None:
    notes = [note(0, STRIKES - 1), note(len(pack(left_entry(1))), STRIKES - 2)]
    leave(tmp_path, left_entry(1), left_entry(2), left_entry(3), *notes)
    with running_receiver(tmp_path) as receiver:
        assert names(receiver) == ["span 2", "span 3"]
        (kept,) = set_aside(tmp_path)
        assert kept.read_bytes() == pack(left_entry(1))


def test_what_was_left_by_many_receivers_is_tried_apart(tmp_path: Path) -> None:
    taken_over = [Entry({"note": blame.taken_over()}, b"")] * (blame.TAKEOVERS - 1)
    leave(tmp_path, left_entry(1), *taken_over, left_entry(2))
    with running_receiver(tmp_path) as receiver:
        assert names(receiver) == ["span 1", "span 2"]
        appends = [each["rows"] for each in receiver.store.requests if each["op"] == "append"]
        assert appends == [1, 1]


def test_what_there_is_no_room_to_set_aside_stays_in_the_journal_until_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "_RETRY_S", 0.01)
    tries = itertools.count()

    def full_at_first(path: Path, data: bytes) -> Path:
        if next(tries) < 3:
            raise OSError(28, "No space left on device")
        return keep_aside(path, data)

    monkeypatch.setattr(aside, "keep_aside", full_at_first)
    broken = left_entry(1)._replace(payload=b"no Arrow")
    leave(tmp_path, broken, left_entry(2))
    with running_receiver(tmp_path) as receiver:
        assert names(receiver) == ["span 2"]
        (kept,) = set_aside(tmp_path)
        assert kept.read_bytes() == pack(broken)
        assert next(tries) == 4
