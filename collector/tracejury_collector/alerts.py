"""What a look at an alert's condition changes, and whether somebody is told. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Status = Literal["ok", "pending", "firing"]
Event = Literal["firing", "reminder", "resolved", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertState:
    """What is known of an alert.

    `since_ns` is when its condition began to hold, or, where it is ok, ceased to. `announced` says
    that somebody was told that it fires, and not yet that it is over. `error` is why the last look
    told nothing; the status is then that of the look before.
    """

    alert: str
    status: Status = "ok"
    since_ns: int
    checked_at_ns: int | None = None
    notified_at_ns: int | None = None
    announced: bool = False
    summary: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertPolicy:
    """How often an alert is looked at, how long it must hold, and how often that is told."""

    every_ns: int
    hold_ns: int
    cooldown_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a look saw: whether the condition holds, and that in a line."""

    holds: bool
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A look that told nothing, and why; `is_fault` unless there was merely too little to see."""

    reason: str
    is_fault: bool = True


def decide(
    state: AlertState, found: Found | Unknown, policy: AlertPolicy, now_ns: int
) -> tuple[AlertState, Event | None]:
    """Return the state after a look at `now_ns`, and what is told."""
    if isinstance(found, Unknown):
        return _unknown(state, found, now_ns), None
    seen = replace(state, checked_at_ns=now_ns, summary=found.summary, error=None)
    if not found.holds:
        return _ok(seen, now_ns)
    since_ns = _since_ns(state, policy, now_ns)
    if state.status != "firing" and now_ns - since_ns < policy.hold_ns:
        return replace(seen, status="pending", since_ns=since_ns), None
    firing = replace(seen, status="firing", since_ns=since_ns)
    if _cools_down(state, policy, now_ns):
        return firing, None
    event: Event = "reminder" if state.announced else "firing"
    return replace(firing, announced=True, notified_at_ns=now_ns), event


def _unknown(state: AlertState, found: Unknown, now_ns: int) -> AlertState:
    if found.is_fault:
        return replace(state, checked_at_ns=now_ns, error=found.reason)
    return replace(state, checked_at_ns=now_ns, summary=found.reason, error=None)


def _ok(seen: AlertState, now_ns: int) -> tuple[AlertState, Event | None]:
    if seen.status == "ok":
        return seen, None
    ended = replace(seen, status="ok", since_ns=now_ns, announced=False)
    return ended, "resolved" if seen.announced else None


def _since_ns(state: AlertState, policy: AlertPolicy, now_ns: int) -> int:
    """Return since when the condition holds, as far as somebody looked."""
    if state.status == "ok" or state.since_ns > now_ns:
        return now_ns
    unseen_ns = now_ns - (state.checked_at_ns or now_ns)
    forgotten = state.status == "pending" and unseen_ns > policy.hold_ns + 2 * policy.every_ns
    return now_ns if forgotten else state.since_ns


def _cools_down(state: AlertState, policy: AlertPolicy, now_ns: int) -> bool:
    """Say whether the last message is too fresh; one from the future is that of a wrong clock."""
    if state.notified_at_ns is None:
        return False
    return 0 <= now_ns - state.notified_at_ns < policy.cooldown_ns
