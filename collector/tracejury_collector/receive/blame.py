"""Which request the store dies of: what was in its hands when it died, and how often.

A store dies of many things, most of which have nothing to do with what it was given. So a death
only narrows down who may have been it, until one request is left; and that one is guilty only
after the store has died of it alone, again and again, and of nothing else between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

T = TypeVar("T")

BATCH_DEATHS = 2
"""A batch may be in hand at so many deaths before its requests are tried apart: the first is
mostly the fault of somebody else, and to try them apart costs a commit for each part."""
WAYS = 16
"""Into so many parts those that may have been it are split."""
TAKEOVERS = 5
"""So many receivers may die with requests in their journal before those are tried apart: it is the
receivers that died, and only perhaps the store with them."""
STRIKES = 3
"""Deaths in a row, each with one request alone in hand, of which that one is guilty."""
_PAUSES_S = (0.0, 1.0, 5.0)

_TAKEN_OVER = "taken over"
_TRIED = "tried"


@dataclass(frozen=True, kw_only=True)
class Suspects(Generic[T]):
    """Requests of which one may have ended the store.

    `life` is that of the store in which they are, or were, on trial; None: in none.
    """

    members: tuple[T, ...]
    strikes: int = 0
    life: int | None = None

    @property
    def is_guilty(self) -> bool:
        """Whether the store dies of them, as far as anybody can tell."""
        return self.strikes >= STRIKES

    @property
    def pause_s(self) -> float:
        """How long the store has to live, and commit, before they are tried again.

        It differs each time, so that a store that dies by the clock is not taken for theirs.
        """
        return _PAUSES_S[min(self.strikes, len(_PAUSES_S) - 1)]


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """What the notes in a segment say of the requests in it, by their keys."""

    takeovers: int = 0
    trials: Sequence[Suspects[str]] = field(default=())

    @property
    def is_suspicious(self) -> bool:
        """Whether all of these requests are to be tried apart, not only those that were."""
        return self.takeovers + 1 >= TAKEOVERS


def split(members: Sequence[T]) -> list[Suspects[T]]:
    """Return the members in few parts, in their order."""
    size = -(-len(members) // WAYS) or 1
    return [
        Suspects(members=tuple(members[start : start + size]))
        for start in range(0, len(members), size)
    ]


def struck(suspects: Suspects[T]) -> list[Suspects[T]]:
    """Return whom to suspect once the store has died with them alone in hand."""
    if len(suspects.members) > 1:
        return split(suspects.members)
    return [replace(suspects, strikes=suspects.strikes + 1, life=None)]


def resumed(suspects: Suspects[T], life: int) -> list[Suspects[T]]:
    """Return whom to suspect in this life of the store, where their receiver died on the trial."""
    if suspects.life in (None, life):
        return [replace(suspects, life=None)]
    return struck(suspects)


def taken_over() -> dict[str, Any]:
    """Return the note that a receiver has taken a segment over."""
    return {"of": _TAKEN_OVER}


def tried(suspects: Suspects[str], *, alone: bool) -> dict[str, Any]:
    """Return the note that the requests with these keys are on trial, or no longer.

    `alone` says that there is nobody else on that trial, in another segment.
    """
    return {
        "of": _TRIED,
        "keys": suspects.members,
        "strikes": suspects.strikes,
        "life": suspects.life,
        "alone": alone,
    }


def recalled(notes: Iterable[Mapping[str, Any]]) -> Recalled:
    """Return what the notes of a segment, in the order they were made, come to."""
    takeovers = 0
    last: dict[str, int] = {}
    trials: dict[int, Mapping[str, Any]] = {}
    for number, note in enumerate(notes):
        if note["of"] == _TAKEN_OVER:
            takeovers += 1
        else:
            trials[number] = note
            last.update(dict.fromkeys(note["keys"], number))
    open_ = (_open(note, [k for k in note["keys"] if last[k] == n]) for n, note in trials.items())
    return Recalled(takeovers=takeovers, trials=[trial for trial in open_ if trial])


def _open(note: Mapping[str, Any], keys: Sequence[str]) -> Suspects[str] | None:
    """Return what is still open of a trial, for those that it was the last one of.

    One that was not alone on it has not been struck by what came of it.
    """
    if not keys or (note["life"] is None and not note["strikes"]):
        return None
    life = note["life"] if note["alone"] or len(keys) > 1 else None
    return Suspects(members=tuple(keys), strikes=note["strikes"], life=life)
