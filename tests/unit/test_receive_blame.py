"""Whom the store dies of: decided from what it had in hand when it died."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tracejury_collector.receive import blame
from tracejury_collector.receive.blame import STRIKES, WAYS, Suspects, recalled, tried

SIZES = st.integers(1, 600)


def convicted(size: int, guilty: set[int]) -> tuple[set[int], set[int], int]:
    """Return who is set aside, who is stored, and the deaths that this took, where the store dies
    of the guilty and of nothing else."""
    waiting = blame.split(range(size))
    aside: set[int] = set()
    stored: set[int] = set()
    deaths = 0
    while waiting:
        suspects = waiting.pop()
        if suspects.is_guilty:
            aside.update(suspects.members)
        elif guilty.isdisjoint(suspects.members):
            stored.update(suspects.members)
        else:
            deaths += 1
            waiting += blame.struck(suspects)
    return aside, stored, deaths


@given(SIZES)
def test_parts_are_few_and_hold_everybody_once_in_order(size: int) -> None:
    parts = blame.split(range(size))
    assert [member for part in parts for member in part.members] == [*range(size)]
    assert len(parts) <= WAYS
    assert max(len(part.members) for part in parts) <= size / WAYS + 1
    assert all(part.strikes == 0 and part.life is None for part in parts)


@given(SIZES, st.data())
def test_the_guilty_are_set_aside_and_all_others_stored(size: int, data: st.DataObject) -> None:
    guilty = data.draw(st.sets(st.integers(0, size - 1), max_size=3))
    aside, stored, deaths = convicted(size, guilty)
    assert aside == guilty
    assert stored == set(range(size)) - guilty
    assert deaths <= len(guilty) * (2 + STRIKES), "for 16 × 16 × 16 requests"


@given(SIZES, st.integers(0, STRIKES - 1))
def test_nobody_is_guilty_of_fewer_deaths_or_together_with_others(size: int, strikes: int) -> None:
    suspects = [Suspects(members=tuple(range(size)))]
    for _ in range(strikes):
        suspects = blame.struck(suspects[-1])
        assert not any(each.is_guilty for each in suspects)


def test_each_try_waits_longer_for_the_store_to_live() -> None:
    pauses = [Suspects(members=(1,), strikes=n).pause_s for n in range(STRIKES)]
    assert pauses == sorted(set(pauses))
    assert pauses[0] == 0


def notes(*trials: Suspects[str]) -> list[dict[str, object]]:
    """Return the notes about the trials, as they come back from the disk."""
    made = [tried(trial, alone=len(trial.members) == 1) for trial in trials]
    return [orjson.loads(orjson.dumps(note)) for note in made]


def test_what_a_receiver_died_on_is_remembered_with_its_strikes() -> None:
    one = Suspects(members=("a",), strikes=2, life=7)
    part = Suspects(members=("b", "c"), life=7)
    done = Suspects(members=("d",))
    again = Suspects(members=("c",), life=8)
    found = recalled([blame.taken_over(), *notes(one, part, done, again)])
    assert found.takeovers == 1
    assert found.trials == [
        Suspects(members=("a",), strikes=2, life=7),
        Suspects(members=("b",)),
        Suspects(members=("c",), life=8),
    ], "b was not alone on its trial: that is no strike"


def test_one_of_a_trial_over_two_segments_was_not_alone() -> None:
    note = tried(Suspects(members=("a",), life=7), alone=False)
    assert recalled([note]).trials == [Suspects(members=("a",))]


def test_a_trial_that_ended_well_is_no_longer_held_against_anybody() -> None:
    found = recalled(notes(Suspects(members=("a",), strikes=2, life=7), Suspects(members=("a",))))
    assert found.trials == []
    assert not found.is_suspicious


def test_what_was_left_again_and_again_is_suspicious() -> None:
    notes = [blame.taken_over()] * (blame.TAKEOVERS - 1)
    assert not recalled(notes[1:]).is_suspicious
    assert recalled(notes).is_suspicious


def test_a_receiver_that_died_while_the_store_lived_on_proves_nothing() -> None:
    trial = Suspects(members=("a",), strikes=1, life=7)
    assert blame.resumed(trial, 7) == [Suspects(members=("a",), strikes=1)]
    assert blame.resumed(trial, 8) == [Suspects(members=("a",), strikes=2)]
    assert blame.resumed(Suspects(members=("a",), strikes=1), 8) == [
        Suspects(members=("a",), strikes=1)
    ]


def test_of_a_part_that_a_receiver_died_on_each_is_tried_alone() -> None:
    part = Suspects(members=("a", "b"), life=7)
    assert blame.resumed(part, 8) == [Suspects(members=("a",)), Suspects(members=("b",))]
