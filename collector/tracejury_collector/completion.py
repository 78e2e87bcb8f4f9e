"""When a trace is finished: decided on arrival times only, never on the agent's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CompletedBy = Literal["marker", "root_ended", "idle", "max_age"]

_PROMPT_REVISIONS = 2
_LEAST_HOLD_NS = 1_000_000_000
_MAX_DOUBLINGS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What arrived of a trace since its last finished revision, the `revision`-th (0: none yet).

    `earlier_root_ended` says that an earlier revision already held an ended root, `imported` that
    some of it was brought in from a file, without an ended root.
    """

    trace_id: str
    first_seen_ns: int
    last_seen_ns: int
    span_count: int = 0
    root_seen: bool = False
    root_ended: bool = False
    marker_seen: bool = False
    earlier_root_ended: bool = False
    imported: bool = False
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionPolicy:
    """How long to wait."""

    after_root_ns: int
    idle_ns: int
    max_age_ns: int

    def hold_ns(self, revision: int) -> int:
        """Return how long late arrivals are gathered, at least, after so many revisions."""
        return gathering_ns(revision, max(self.after_root_ns, _LEAST_HOLD_NS), self.max_age_ns)


def gathering_ns(revision: int, wait_ns: int, max_ns: int) -> int:
    """Return how long news are gathered before the revision after the `revision`-th.

    The first revisions come after the usual wait. From then on the time doubles, up to `max_ns`:
    what never ends is assembled at that pace, not at that of its spans.
    """
    if revision <= _PROMPT_REVISIONS:
        return 0
    return min(wait_ns << min(revision - _PROMPT_REVISIONS, _MAX_DOUBLINGS), max_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """What the receiver could see: nothing before `listening_since_ns`, and all `lag_ns` late.

    Files were imported up to `imported_ns`: until some time after it, more may come of any trace.
    """

    listening_since_ns: int = 0
    lag_ns: int = 0
    imported_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The trace is finished, by this rule."""

    completed_by: CompletedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The trace is not finished; without news it is at `due_ns`."""

    reason: str
    due_ns: int


_ALWAYS = Reception()


def decide(
    activity: Activity,
    policy: CompletionPolicy,
    now_ns: int,
    reception: Reception = _ALWAYS,
) -> Completion | Waiting:
    """Return whether the trace is finished at `now_ns`, and which rule decided it."""
    held_until_ns = activity.first_seen_ns + policy.hold_ns(activity.revision)
    decided = _by_activity(activity, policy, now_ns, reception)
    if now_ns >= held_until_ns:
        return decided
    if isinstance(decided, Waiting) and decided.due_ns >= held_until_ns:
        return decided
    held = f"held for {in_words(held_until_ns - now_ns)}: it was finished {activity.revision} times"
    return Waiting(reason=f"{_state(activity, now_ns)}; {held}", due_ns=held_until_ns)


def _by_activity(
    activity: Activity, policy: CompletionPolicy, now_ns: int, reception: Reception
) -> Completion | Waiting:
    if activity.marker_seen:
        return Completion(completed_by="marker")
    quiet_from_ns = max(activity.last_seen_ns, reception.listening_since_ns) + reception.lag_ns
    root_ended = activity.root_ended or activity.earlier_root_ended
    quiet_rule: CompletedBy = "root_ended" if root_ended else "idle"
    quiet_due_ns = quiet_from_ns + (policy.after_root_ns if root_ended else policy.idle_ns)
    if activity.imported:
        imported_ns = max(quiet_from_ns, reception.imported_ns + reception.lag_ns)
        quiet_due_ns = min(quiet_due_ns, imported_ns + policy.after_root_ns)
    age_due_ns = activity.first_seen_ns + policy.max_age_ns + reception.lag_ns
    if now_ns >= quiet_due_ns:
        return Completion(completed_by=quiet_rule)
    if now_ns >= age_due_ns:
        return Completion(completed_by="max_age")
    due_ns = min(quiet_due_ns, age_due_ns)
    news = f"finished in {in_words(due_ns - now_ns)} without news"
    return Waiting(reason=f"{_state(activity, now_ns)}; {news}", due_ns=due_ns)


def _state(activity: Activity, now_ns: int) -> str:
    if activity.root_ended and not activity.revision:
        state = "root ended"
    elif activity.revision or activity.earlier_root_ended:
        state = "reopened by late arrivals"
    elif activity.imported:
        state = "imported without an ended root"
    elif activity.root_seen:
        state = "root still open"
    else:
        state = "no root yet"
    spans = "1 span" if activity.span_count == 1 else f"{activity.span_count} spans"
    ago = in_words(max(0, now_ns - activity.last_seen_ns))
    return f"{state}, {spans}, last {ago} ago"


def in_words(duration_ns: int) -> str:
    """Return a duration as people say it."""
    seconds = duration_ns / 1e9
    if seconds < 10:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
