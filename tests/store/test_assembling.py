"""The store's end of the socket to the assembler: what happens when that fails."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import assembling
from tests.helpers.assembling import answers, batch, dies, peers, says
from tests.helpers.service import eventually
from tracejury_collector.assembling.assembly import InProcess, answer, assemble_batch
from tracejury_collector.assembling.batch import Assembled, Batch, write_batch
from tracejury_collector.assembling.link import ATTEMPTS, AssemblerLink
from tracejury_collector.errors import AssemblyFailed, Unavailable
from tracejury_collector.sampling import Draw

ONE = batch({"trace_id": f"{1:032x}"})
TWO = batch({"trace_id": f"{2:032x}"}, {"trace_id": f"{3:032x}"})
THREE = batch({"trace_id": f"{4:032x}"})
EVERY = Draw(salt="all", rate=1.0, by_session=False)


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:  # short: the path of a socket has a limit
        yield Path(directory) / "a.sock"


@pytest.fixture
def link(path: Path) -> Iterator[AssemblerLink]:
    made = AssemblerLink(str(path), answer_s=10, connect_s=10)
    yield made
    made.close()


def ids(found: Assembled) -> list[str | None]:
    return found.tables["traces"].column("trace_id").to_pylist()


def expected(*wanted: Batch) -> list[list[str | None]]:
    return [ids(found) for found in InProcess()(wanted)]


def test_batches_come_back_in_order(link: AssemblerLink, path: Path) -> None:
    with peers(path, answers):
        found = [ids(each) for each in link([ONE, TWO, THREE])]
        assert found == expected(ONE, TWO, THREE)
        assert [ids(each) for each in link([TWO])] == expected(TWO)
        assert list(link([])) == []
        link.close()


def test_the_next_batch_is_read_while_the_one_before_is_assembled(
    link: AssemblerLink, path: Path
) -> None:
    read: list[int] = []

    def batches() -> Iterator[Batch]:
        for number, each in enumerate([ONE, TWO, THREE]):
            read.append(number)
            yield each

    with peers(path, answers):
        ahead = [list(read) for _ in link(batches())]
        link.close()
    assert ahead == [[0, 1], [0, 1, 2], [0, 1, 2]]


def test_what_crosses_the_socket_is_what_was_made(link: AssemblerLink, path: Path) -> None:
    wanted = batch({"trace_id": f"{1:032x}", "name": "chat 😀"}, draws=[EVERY])
    with peers(path, answers):
        (found,) = link([wanted])
        link.close()
    made = assemble_batch(wanted)
    assert found.facts == made.facts
    assert made.facts[0].dump is not None
    assert found.tables == made.tables


def test_only_what_may_be_judged_comes_as_json() -> None:
    never = Draw(salt="none", rate=0.0, by_session=False)
    wanted = batch({"trace_id": f"{1:032x}"}, draws=[never])
    (found,) = InProcess()([wanted])
    assert [fact.dump for fact in found.facts] == [None]


def test_an_assembler_that_dies_is_no_loss(link: AssemblerLink, path: Path) -> None:
    with peers(path, dies, answers):
        assert [ids(each) for each in link([ONE, TWO])] == expected(ONE, TWO)
        link.close()
    assert link.lost == 1


def test_a_batch_at_which_assemblers_die_is_given_up(link: AssemblerLink, path: Path) -> None:
    with peers(path, *[dies] * ATTEMPTS, answers):
        with pytest.raises(AssemblyFailed, match="died at it 2 times"):
            list(link([ONE]))
        assert [ids(each) for each in link([TWO])] == expected(TWO)
        link.close()


def test_nonsense_is_like_death(link: AssemblerLink, path: Path) -> None:
    of_another = answer(*write_batch(TWO))
    wrong = says({"op": "assembled"}, of_another), says({"op": "assembled"}, b"no Arrow at all")
    with peers(path, *wrong, answers):
        with pytest.raises(AssemblyFailed, match="died at it"):
            list(link([ONE]))
        assert [ids(each) for each in link([ONE])] == expected(ONE)
        link.close()


def test_why_a_batch_cannot_be_assembled_is_told(link: AssemblerLink, path: Path) -> None:
    failed = says({"op": "failed", "reason": "MemoryError: too much"}, b"")
    with peers(path, failed, answers):
        with pytest.raises(AssemblyFailed, match="MemoryError: too much"):
            list(link([ONE]))
        assert [ids(each) for each in link([ONE])] == expected(ONE)
        link.close()


def test_an_answer_that_nobody_waits_for_is_not_taken_for_another(
    link: AssemblerLink, path: Path
) -> None:
    def broken() -> Iterator[Batch]:
        yield ONE
        raise ZeroDivisionError

    with peers(path, answers, answers):
        with pytest.raises(ZeroDivisionError):
            list(link(broken()))
        assert [ids(each) for each in link([TWO])] == expected(TWO)
        link.close()


def test_an_assembler_that_hangs_is_killed(path: Path) -> None:
    link = AssemblerLink(str(path), answer_s=0.2, connect_s=10)
    hanging = assembling.silent(path)
    try:
        with pytest.raises(AssemblyFailed, match=r"longer than 0\.2 s"):
            list(link([ONE]))
        assert hanging.wait(10) == -signal.SIGKILL
    finally:
        hanging.kill()
        hanging.wait()
        link.close()


def test_work_waits_for_an_assembler_that_is_away(path: Path) -> None:
    link = AssemblerLink(str(path), answer_s=1, connect_s=0.05)
    with pytest.raises(Unavailable, match="away"):
        list(link([ONE]))
    with peers(path, lambda _: None):  # came and went
        with pytest.raises(Unavailable, match="away"):
            list(link([ONE]))
        link.close()
    assert not path.exists()
    with pytest.raises(Unavailable):
        list(link([ONE]))


def test_a_real_assembler_is_small_and_replaced_when_killed(path: Path) -> None:
    link = AssemblerLink(str(path))
    first = assembling.assembler(path)
    second = None
    try:
        assert [ids(each) for each in link([ONE, TWO])] == expected(ONE, TWO)
        loaded = Path(f"/proc/{first.pid}/maps").read_text()
        assert "duckdb" not in loaded
        assert os.getpriority(os.PRIO_PROCESS, first.pid) > os.getpriority(os.PRIO_PROCESS, 0)
        first.kill()
        first.wait()
        second = assembling.assembler(path)
        assert [ids(each) for each in link([THREE])] == expected(THREE)
        assert link.lost == 0
        link.close()
        with pytest.raises(Unavailable):
            list(link([ONE]))
        eventually(lambda: second.poll() is None, "it waits for the next store")
    finally:
        for each in (first, second):
            if each is not None:
                each.kill()
                each.wait()
        link.close()
