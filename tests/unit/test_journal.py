"""The receiver's journal: entries on the disk, taken over after a death, set aside when damaged."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracejury_collector.entries import Entry, pack, unpack
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive import journal as journaling
from tracejury_collector.receive import segments
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.segments import Kept

ENTRIES = st.lists(
    st.builds(
        Entry,
        st.dictionaries(st.text(max_size=8), st.integers(0, 1 << 32), max_size=3),
        st.binary(max_size=64),
    ),
    max_size=6,
)


def unpacked(data: bytes | bytearray) -> tuple[list[Entry], int]:
    """Return the entries that are whole, and where the last of them ends."""
    found = list(unpack(memoryview(data)))
    entries = [Entry(entry.header, bytes(entry.payload)) for entry, _, _ in found]
    return entries, found[-1].end if found else 0


def numbered(number: int, size: int = 10) -> Entry:
    """Return an entry that tells its number."""
    return Entry({"n": number}, bytes(size))


def half_of_it(handle: int, pieces: Sequence[memoryview]) -> int:
    """Write some bytes as `os.writev` does, then fail."""
    os.write(handle, pieces[0][:5])
    raise OSError(28, "No space left on device")


def run(folder: Path, work: Callable[[Journal], Awaitable[object]]) -> None:
    """Do the work on a journal of the folder, and close it."""

    async def inside() -> None:
        journal = Journal(folder)
        try:
            await work(journal)
        finally:
            journal.close()

    asyncio.run(inside())


def left_in(folder: Path) -> list[int]:
    """Return the numbers of the entries that a new journal of the folder takes over."""
    found: list[int] = []

    async def look(journal: Journal) -> None:
        found.extend(kept.header["n"] for left in journal.left() for kept in left.requests)

    run(folder, look)
    return found


def files(folder: Path) -> dict[str, int]:
    """Return the sizes of the files of the folder."""
    return {path.name: path.stat().st_size for path in folder.iterdir()}


@settings(deadline=None)
@given(ENTRIES)
def test_what_is_packed_is_unpacked(entries: list[Entry]) -> None:
    data = b"".join(map(pack, entries))
    assert unpacked(data) == (entries, len(data))


@settings(deadline=None)
@given(ENTRIES.filter(bool), st.data())
def test_a_segment_that_is_cut_short_gives_the_entries_before_the_cut(
    entries: list[Entry], data: st.DataObject
) -> None:
    packed = list(map(pack, entries))
    whole = b"".join(packed)
    cut = data.draw(st.integers(0, len(whole) - 1))
    ends = [sum(map(len, packed[: n + 1])) for n in range(len(packed))]
    kept = [n for n in ends if n <= cut]
    assert unpacked(whole[:cut]) == (entries[: len(kept)], kept[-1] if kept else 0)


@settings(deadline=None)
@given(ENTRIES.filter(bool), st.data())
def test_a_flipped_bit_costs_no_entry_before_it(entries: list[Entry], data: st.DataObject) -> None:
    packed = list(map(pack, entries))
    whole = bytearray(b"".join(packed))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    sound = next(n for n in range(len(packed)) if at < sum(map(len, packed[: n + 1])))
    assert unpacked(whole)[0] == entries[:sound]


def test_what_is_not_forgotten_is_taken_over_in_order(tmp_path: Path) -> None:
    async def write(journal: Journal) -> None:
        for number in range(3):
            await journal.append(numbered(number))

    run(tmp_path / "journal", write)
    assert left_in(tmp_path / "journal") == [0, 1, 2]
    assert left_in(tmp_path / "journal") == [0, 1, 2], "looking takes nothing away"


def test_what_the_disk_takes_piece_by_piece_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def little(handle: int, pieces: Sequence[memoryview]) -> int:
        return os.write(handle, pieces[0][:7])

    monkeypatch.setattr(os, "writev", little)

    async def write(journal: Journal) -> None:
        await asyncio.gather(*(journal.append(numbered(n, n % 40)) for n in range(600)))

    run(tmp_path / "journal", write)
    assert left_in(tmp_path / "journal") == list(range(600))


def test_what_is_kept_can_be_read_where_it_lies(tmp_path: Path) -> None:
    async def write(journal: Journal) -> None:
        first = await journal.append(numbered(1))
        await journal.note(first.segment, {"of": "this"})
        kept = [first, *await asyncio.gather(*(journal.append(numbered(n, n)) for n in (2, 3)))]
        for each in kept:
            n = each.header["n"]
            assert segments.read(each) == pack(numbered(n, 10 if n == 1 else n))
            journal.forget(each.segment)
        fourth = await journal.append(numbered(4))
        assert (fourth.start, segments.read(fourth)) == (0, pack(numbered(4)))

    run(tmp_path / "journal", write)


def test_what_could_not_be_taken_back_from_the_disk_moves_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(journal: Journal) -> None:
        first = await journal.append(numbered(1))
        with monkeypatch.context() as patch:
            patch.setattr(os, "ftruncate", _fail)
            patch.setattr(os, "writev", half_of_it)
            await journal.note(first.segment, {"of": "this"})
        second = await journal.append(numbered(2))
        assert segments.read(second) == pack(numbered(2))

    run(tmp_path / "journal", write)


def test_a_segment_is_cleared_when_all_of_it_is_forgotten(tmp_path: Path) -> None:
    async def write(journal: Journal) -> None:
        first, second = [await journal.append(numbered(number)) for number in range(2)]
        journal.forget(first.segment)
        assert files(tmp_path / "journal")[first.segment.path.name] == 2 * len(pack(numbered(0)))
        journal.forget(second.segment)
        third = await journal.append(numbered(2))
        assert files(tmp_path / "journal") == {third.segment.path.name: len(pack(numbered(2)))}
        journal.forget(third.segment)

    run(tmp_path / "journal", write)
    assert files(tmp_path / "journal") == {}


def test_what_waits_at_the_same_time_shares_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    really = os.fdatasync

    def counting(handle: int) -> None:
        synced.append(handle)
        really(handle)

    monkeypatch.setattr(os, "fdatasync", counting)

    async def write(journal: Journal) -> None:
        await asyncio.gather(*(journal.append(numbered(number)) for number in range(50)))

    run(tmp_path / "journal", write)
    assert len(synced) == 1
    assert left_in(tmp_path / "journal") == [*range(50)]


def test_large_segments_are_followed_by_new_ones_and_go_when_they_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journaling, "SEGMENT_BYTES", 1000)

    async def write(journal: Journal) -> None:
        kept = [await journal.append(numbered(number, 400)) for number in range(6)]
        assert len(files(tmp_path / "journal")) == 2
        for each in kept[:3]:
            journal.forget(each.segment)

    run(tmp_path / "journal", write)
    assert left_in(tmp_path / "journal") == [3, 4, 5]


def test_segments_that_another_process_holds_are_left_to_it(tmp_path: Path) -> None:
    async def write(journal: Journal) -> None:
        await journal.append(numbered(1))
        other = Journal(tmp_path / "journal")
        assert list(other.left()) == []
        await other.append(numbered(2))
        other.close()

    run(tmp_path / "journal", write)
    assert left_in(tmp_path / "journal") == [1, 2]


def test_damage_is_set_aside_and_what_lies_before_it_is_taken_over(tmp_path: Path) -> None:
    async def write(journal: Journal) -> None:
        for number in range(3):
            await journal.append(numbered(number))

    folder = tmp_path / "db.journal"
    run(folder, write)
    (segment,) = folder.iterdir()
    data = bytearray(segment.read_bytes())
    data[2 * len(pack(numbered(0))) + 5] ^= 1
    segment.write_bytes(data)
    assert left_in(folder) == [0, 1]
    (aside,) = tmp_path.glob("db.journal.damaged-*")
    assert aside.read_bytes() == data[2 * len(pack(numbered(0))) :]
    assert left_in(folder) == [0, 1], "the sound entries wait until they are forgotten"


def test_damage_that_there_is_no_room_to_set_aside_waits_until_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "db.journal"
    folder.mkdir()
    (folder / "000000000001.segment").write_bytes(pack(numbered(1)) + b"damage")

    async def look(journal: Journal) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(segments, "keep_aside", _fail)
            (left,) = journal.left()
            assert [kept.header["n"] for kept in left.requests] == [1]
            assert not await journal.set_aside(left)
        journal.forget(left.segment)
        assert list(folder.iterdir()), "it is kept although its entries are forgotten"
        assert await journal.set_aside(left)

    run(folder, look)
    (aside,) = tmp_path.glob("db.journal.damaged-*")
    assert aside.read_bytes() == b"damage"
    assert files(folder) == {}


def test_notes_are_handed_on_with_the_segment_and_go_with_it(tmp_path: Path) -> None:
    async def write(journal: Journal) -> None:
        segment = (await journal.append(numbered(1))).segment
        await journal.note(segment, {"of": "this"})
        await journal.append(numbered(2))

    async def look(journal: Journal) -> None:
        (left,) = journal.left()
        assert [kept.header["n"] for kept in left.requests] == [1, 2]
        assert left.notes == [{"of": "this"}]
        for _ in left.requests:
            journal.forget(left.segment)

    run(tmp_path / "journal", write)
    run(tmp_path / "journal", look)
    assert files(tmp_path / "journal") == {}


def test_a_note_that_the_disk_does_not_take_costs_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(journal: Journal) -> None:
        segment = (await journal.append(numbered(1))).segment
        await journal.note(segment, {"of": "this"})
        with monkeypatch.context() as patch:
            patch.setattr(os, "writev", half_of_it)
            await journal.note(segment, {"of": "that"})
        await journal.append(numbered(2))

    run(tmp_path / "journal", write)
    assert left_in(tmp_path / "journal") == [1, 2]


def test_one_of_the_receivers_of_a_folder_is_alone_at_a_time(tmp_path: Path) -> None:
    seen: list[str] = []

    async def hold(journal: Journal, name: str) -> None:
        async with journal.alone():
            seen.append(f"{name} begins")
            await asyncio.sleep(0)
            seen.append(f"{name} ends")

    async def both(journal: Journal) -> None:
        other = Journal(tmp_path)
        await asyncio.gather(hold(journal, "one"), hold(other, "other"))
        other.close()

    run(tmp_path, both)
    assert [entry.split()[0] for entry in seen] in (
        ["one", "one", "other", "other"],
        ["other", "other", "one", "one"],
    )


def test_a_disk_that_fails_costs_what_was_being_written_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(journal: Journal) -> None:
        await journal.append(numbered(1))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", _fail)
            with pytest.raises(Unavailable, match="No space"):
                await journal.append(numbered(2))
        await journal.append(numbered(3))

    run(tmp_path / "journal", write)
    assert left_in(tmp_path / "journal") == [1, 3]


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "x.segment").write_bytes(b"")

    async def write(journal: Journal) -> Kept:
        return await journal.append(numbered(1))

    run(folder, write)
    assert left_in(folder) == [1]
    assert (folder / "notes.txt").read_text() == "mine"


def _fail(*_args: object) -> None:
    raise OSError(28, "No space left on device")
