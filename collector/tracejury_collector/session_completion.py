"""When a session is finished: decided on when its traces arrived, like everything."""

from __future__ import annotations

from dataclasses import dataclass

from tracejury_collector.completion import (
    Completion,
    Reception,
    Waiting,
    gathering_ns,
    in_words,
)

_ALWAYS = Reception()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionActivity:
    """What came of a session since its last revision, the `revision`-th (0: none yet).

    `last_seen_ns` is the last arrival of its finished traces; `open_traces` are not finished.
    """

    first_seen_ns: int
    last_seen_ns: int
    open_traces: int = 0
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPolicy:
    """How long to wait, and the longest time for which a session that goes on is held."""

    idle_ns: int
    max_hold_ns: int


def decide_session(
    activity: SessionActivity,
    policy: SessionPolicy,
    now_ns: int,
    reception: Reception = _ALWAYS,
) -> Completion | Waiting:
    """Return whether the session is finished at `now_ns`: quiet, with no trace open."""
    quiet_from_ns = max(activity.last_seen_ns, reception.listening_since_ns) + reception.lag_ns
    due_ns = max(
        quiet_from_ns + policy.idle_ns, activity.first_seen_ns + _hold_ns(activity, policy)
    )
    if activity.open_traces:
        count = activity.open_traces
        traces = "one of its traces is" if count == 1 else f"{count} of its traces are"
        return Waiting(reason=f"{traces} not finished", due_ns=max(due_ns, now_ns + 1))
    if now_ns >= due_ns:
        return Completion(completed_by="idle")
    ago = in_words(max(0, now_ns - activity.last_seen_ns))
    reason = f"last arrival {ago} ago; finished in {in_words(due_ns - now_ns)} without news"
    return Waiting(reason=reason, due_ns=due_ns)


def _hold_ns(activity: SessionActivity, policy: SessionPolicy) -> int:
    return gathering_ns(activity.revision, policy.idle_ns, max(policy.max_hold_ns, policy.idle_ns))
