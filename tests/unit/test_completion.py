"""Completion is decided on arrival times only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury_collector.completion import (
    Activity,
    Completion,
    CompletionPolicy,
    Reception,
    Waiting,
    decide,
)

SECOND_NS = 1_000_000_000
POLICY = CompletionPolicy(
    after_root_ns=3 * SECOND_NS, idle_ns=120 * SECOND_NS, max_age_ns=3600 * SECOND_NS
)
T0 = 1_790_000_000 * SECOND_NS


def activity(**fields: object) -> Activity:
    base = Activity(trace_id="a" * 32, first_seen_ns=T0, last_seen_ns=T0, span_count=12)
    return replace(base, **fields)  # type: ignore[arg-type]


def after(seconds: float) -> int:
    return T0 + int(seconds * SECOND_NS)


@pytest.mark.parametrize(
    ("fields", "seconds", "expected"),
    [
        ({"marker_seen": True}, 0, "marker"),
        ({"marker_seen": True, "root_ended": True}, 500, "marker"),
        ({"root_seen": True, "root_ended": True}, 2.999, None),
        ({"root_seen": True, "root_ended": True}, 3, "root_ended"),
        ({"earlier_root_ended": True}, 2.999, None),
        ({"earlier_root_ended": True}, 3, "root_ended"),
        ({"root_seen": True}, 119.999, None),
        ({"root_seen": True}, 120, "idle"),
        ({}, 120, "idle"),
        ({"imported": True}, 2.999, None),
        ({"imported": True}, 3, "idle"),
        ({"imported": True, "earlier_root_ended": True}, 3, "root_ended"),
        ({"last_seen_ns": after(3599)}, 3599.5, None),
        ({"last_seen_ns": after(3599)}, 3600, "max_age"),
        ({"last_seen_ns": after(3599), "root_ended": True}, 3600, "max_age"),
        ({"last_seen_ns": after(3590), "root_ended": True}, 3600, "root_ended"),
    ],
)
def test_the_first_rule_that_holds_finishes_a_trace(
    fields: dict[str, object], seconds: float, expected: str | None
) -> None:
    decided = decide(activity(**fields), POLICY, after(seconds))
    assert (decided.completed_by if isinstance(decided, Completion) else None) == expected


def test_quiet_counts_from_when_the_service_began_to_listen() -> None:
    ended = activity(root_seen=True, root_ended=True)
    restarted = Reception(listening_since_ns=after(100))
    assert isinstance(decide(ended, POLICY, after(102.9), restarted), Waiting)
    assert decide(ended, POLICY, after(103), restarted) == Completion(completed_by="root_ended")


def test_what_is_imported_waits_until_no_more_files_come_but_not_longer_than_others() -> None:
    file = activity(imported=True)
    for files_until, due in ((50, 53), (500, 120)):
        importing = Reception(imported_ns=after(files_until))
        assert isinstance(decide(file, POLICY, after(due - 0.1), importing), Waiting)
        assert decide(file, POLICY, after(due), importing) == Completion(completed_by="idle")


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [({"root_ended": True}, 3), ({}, 120), ({"last_seen_ns": after(3600)}, 3600)],
)
def test_timers_stretch_by_what_the_receiver_lags(fields: dict[str, object], seconds: int) -> None:
    lagging = Reception(lag_ns=10 * SECOND_NS)
    assert isinstance(decide(activity(**fields), POLICY, after(seconds + 9.9), lagging), Waiting)
    assert isinstance(decide(activity(**fields), POLICY, after(seconds + 10), lagging), Completion)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"root_seen": True}, "root still open, 12 spans, last 4 s ago; finished in 116 s"),
        ({"span_count": 1}, "no root yet, 1 span, last 4 s ago"),
        (
            {"root_ended": True, "last_seen_ns": after(1.5)},
            "root ended, 12 spans, last 2.5 s ago; finished in 0.5 s without news",
        ),
        ({"earlier_root_ended": True, "last_seen_ns": after(2)}, "reopened by late arrivals"),
        ({"revision": 1}, "reopened by late arrivals, 12 spans, last 4 s ago; finished in 116 s"),
        (
            {"root_ended": True, "revision": 4, "last_seen_ns": after(2)},
            "last 2 s ago; held for 8 s: it was finished 4 times",
        ),
    ],
)
def test_waiting_is_explained_in_words(fields: dict[str, object], words: str) -> None:
    decided = decide(activity(**fields), POLICY, after(4))
    assert isinstance(decided, Waiting)
    assert words in decided.reason


flags = st.booleans()
waits = st.integers(0, 4000 * SECOND_NS)


@given(
    st.builds(
        Activity,
        trace_id=st.just("a"),
        first_seen_ns=st.just(T0),
        last_seen_ns=waits.map(lambda wait: T0 + wait),
        span_count=st.integers(0, 10),
        root_seen=flags,
        root_ended=flags,
        earlier_root_ended=flags,
        revision=st.integers(0, 100),
    ),
    waits,
    st.builds(
        Reception,
        listening_since_ns=waits.map(lambda wait: T0 + wait),
        lag_ns=st.integers(0, 100 * SECOND_NS),
    ),
)
def test_a_waiting_trace_is_finished_when_it_is_due_and_not_before(
    waiting: Activity, elapsed_ns: int, reception: Reception
) -> None:
    decided = decide(waiting, POLICY, T0 + elapsed_ns, reception)
    if isinstance(decided, Waiting):
        assert decided.due_ns > T0 + elapsed_ns
        assert isinstance(decide(waiting, POLICY, decided.due_ns - 1, reception), Waiting)
        assert isinstance(decide(waiting, POLICY, decided.due_ns, reception), Completion)


def test_the_first_late_arrivals_wait_no_longer_than_the_others() -> None:
    late = activity(earlier_root_ended=True)
    for revision in (1, 2):
        again = replace(late, revision=revision)
        assert isinstance(decide(again, POLICY, after(2.999)), Waiting)
        assert isinstance(decide(again, POLICY, after(3)), Completion)


@pytest.mark.parametrize(
    ("revision", "seconds"), [(3, 6), (4, 12), (10, 768), (12, 3072), (13, 3600), (10_000, 3600)]
)
@pytest.mark.parametrize("fields", [{"earlier_root_ended": True}, {"marker_seen": True}])
def test_each_further_revision_gathers_late_arrivals_longer(
    fields: dict[str, object], revision: int, seconds: int
) -> None:
    held = activity(revision=revision, **fields)
    decided = decide(held, POLICY, after(seconds - 0.001))
    assert isinstance(decided, Waiting)
    assert decided.due_ns == after(seconds)
    assert isinstance(decide(held, POLICY, after(seconds)), Completion)


def test_without_a_wait_after_the_root_late_arrivals_are_gathered_all_the_same() -> None:
    eager = replace(POLICY, after_root_ns=0)
    assert [eager.hold_ns(n) for n in (0, 1, 2, 3, 4)] == [0, 0, 0, 2 * SECOND_NS, 4 * SECOND_NS]
