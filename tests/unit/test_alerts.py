"""What follows from looks at an alert: states, messages, and what they say."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury_collector.alerting.courier import GIVE_UP_NS, attempt_of
from tracejury_collector.alerting.messages import (
    ROWS_SHOWN,
    SECTION_CHARACTERS,
    Message,
    body_of,
    summary_of_rows,
)
from tracejury_collector.alerts import AlertPolicy, AlertState, Event, Found, Unknown, decide
from tracejury_collector.store.alerts import Waiting
from tracejury_evaluators.process.post import Reply

MINUTE_NS = 60_000_000_000
START_NS = 1_790_000_000_000_000_000
POLICY = AlertPolicy(every_ns=MINUTE_NS, hold_ns=2 * MINUTE_NS, cooldown_ns=10 * MINUTE_NS)
AT_ONCE = replace(POLICY, hold_ns=0)
FRESH = AlertState(alert="a", since_ns=START_NS)


def walk(looks: str, policy: AlertPolicy = POLICY) -> list[tuple[str, Event | None]]:
    """Look once a minute: + holds, - does not, ? nothing was told; return status and message."""
    seen: list[tuple[str, Event | None]] = []
    state = FRESH
    for minute, sign in enumerate(looks):
        found: Found | Unknown = Found(holds=sign == "+", summary=sign)
        if sign == "?":
            found = Unknown(reason="broken")
        state, event = decide(state, found, policy, START_NS + minute * MINUTE_NS)
        seen.append((state.status, event))
    return seen


def events(looks: str, policy: AlertPolicy = POLICY) -> dict[int, Event]:
    return {n: event for n, (_, event) in enumerate(walk(looks, policy)) if event}


@pytest.mark.parametrize(
    ("looks", "policy", "told"),
    [
        ("----", POLICY, {}),
        ("+", AT_ONCE, {0: "firing"}),
        ("+-", AT_ONCE, {0: "firing", 1: "resolved"}),
        ("++-", POLICY, {}),  # it did not hold for long enough
        ("+++", POLICY, {2: "firing"}),
        ("++-++", POLICY, {}),  # it began anew
        ("++?+", POLICY, {3: "firing"}),  # a look that failed ends nothing
        ("+++?-", POLICY, {2: "firing", 4: "resolved"}),
        ("+" * 22, AT_ONCE, {0: "firing", 10: "reminder", 20: "reminder"}),
        ("+-+-+-", AT_ONCE, {0: "firing", 1: "resolved"}),  # flapping within the cool-down
        ("+-+-+-+++++", AT_ONCE, {0: "firing", 1: "resolved", 10: "firing"}),
        ("+-++++++++++-", AT_ONCE, {0: "firing", 1: "resolved", 10: "firing", 12: "resolved"}),
        ("????", AT_ONCE, {}),
    ],
)
def test_who_is_told_when(looks: str, policy: AlertPolicy, told: dict[int, Event]) -> None:
    assert events(looks, policy) == told


def test_states_follow_the_looks() -> None:
    assert [status for status, _ in walk("-+++?-")] == [
        "ok", "pending", "pending", "firing", "firing", "ok",
    ]  # fmt: skip


def test_a_look_that_fails_keeps_what_is_known_and_says_why() -> None:
    state, _ = decide(FRESH, Found(holds=True, summary="12 rows"), AT_ONCE, START_NS)
    after, event = decide(state, Unknown(reason="no such column"), AT_ONCE, START_NS + MINUTE_NS)
    assert event is None
    assert (after.status, after.summary, after.error) == ("firing", "12 rows", "no such column")
    again, _ = decide(after, Found(holds=True, summary="9 rows"), AT_ONCE, START_NS + 2 * MINUTE_NS)
    assert (again.summary, again.error) == ("9 rows", None)


def test_too_little_to_see_is_no_fault() -> None:
    found = Unknown(reason="3 judged, fewer than 30", is_fault=False)
    after, event = decide(FRESH, found, AT_ONCE, START_NS)
    assert (after.status, after.error, event) == ("ok", None, None)
    assert after.summary == "3 judged, fewer than 30"


def test_time_in_which_nobody_looked_does_not_count_as_holding() -> None:
    pending, _ = decide(FRESH, Found(holds=True, summary=""), POLICY, START_NS)
    day_ns = 24 * 60 * MINUTE_NS
    after, event = decide(pending, Found(holds=True, summary=""), POLICY, START_NS + day_ns)
    assert (after.status, event, after.since_ns) == ("pending", None, START_NS + day_ns)


def test_a_schedule_slower_than_the_hold_still_fires() -> None:
    slow = AlertPolicy(every_ns=10 * MINUTE_NS, hold_ns=MINUTE_NS, cooldown_ns=MINUTE_NS)
    pending, _ = decide(FRESH, Found(holds=True, summary=""), slow, START_NS)
    _, event = decide(pending, Found(holds=True, summary=""), slow, START_NS + 10 * MINUTE_NS)
    assert event == "firing"


def test_a_clock_that_was_set_back_mutes_nothing() -> None:
    state, _ = decide(FRESH, Found(holds=True, summary=""), AT_ONCE, START_NS + 10**6 * MINUTE_NS)
    _, event = decide(state, Found(holds=True, summary=""), AT_ONCE, START_NS)
    assert event == "reminder"


@given(st.text(alphabet="+-?", max_size=60), st.integers(0, 5), st.integers(1, 20))
def test_messages_of_firing_and_end_alternate_and_keep_their_distance(
    looks: str, hold: int, cooldown: int
) -> None:
    policy = AlertPolicy(
        every_ns=MINUTE_NS, hold_ns=hold * MINUTE_NS, cooldown_ns=cooldown * MINUTE_NS
    )
    told = events(looks, policy)
    ends = [event for event in told.values() if event != "reminder"]
    assert all(event == ("firing", "resolved")[n % 2] for n, event in enumerate(ends))
    loud = [minute for minute, event in told.items() if event != "resolved"]
    assert all(b - a >= cooldown for a, b in itertools.pairwise(loud))
    open_reminders = [m for m, event in told.items() if event == "reminder"]
    assert all(any(told[n] == "firing" for n in told if n < m) for m in open_reminders)


def message(event: Event = "firing", **fields: object) -> Message:
    state = replace(FRESH, alert="errors", status="firing", summary="2 rows: service booking")
    made = Message(
        delivery_id="d1",
        event=event,
        state=state,
        description="look at the dashboard",
        rows=[{"service": "booking", "errors": 12}, {"service": "search", "errors": 3}],
        created_at_ns=START_NS,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def test_a_message_is_text_blocks_and_data() -> None:
    body = body_of(message())
    assert body["text"] == "Alert: errors: 2 rows: service booking"
    header, summary, rows, description, footer = body["blocks"]
    assert header["text"]["text"] == "Alert: errors"
    assert summary["text"]["text"] == "2 rows: service booking"
    assert rows["text"]["text"] == "service booking, errors 12\nservice search, errors 3"
    assert description["text"]["text"] == "look at the dashboard"
    assert footer["elements"][0]["text"] == "since 2026-09-21T14:13:20Z · Tracejury"
    assert {
        "id": "d1",
        "alert": "errors",
        "event": "firing",
        "status": "firing",
        "rows": [{"service": "booking", "errors": 12}, {"service": "search", "errors": 3}],
    }.items() <= body["tracejury"].items()


@pytest.mark.parametrize(
    ("event", "title"),
    [
        ("firing", "Alert: errors"),
        ("reminder", "Still firing: errors"),
        ("resolved", "Resolved: errors"),
        ("test", "Test of the alert errors"),
    ],
)
def test_each_event_has_its_title(event: Event, title: str) -> None:
    assert body_of(message(event))["blocks"][0]["text"]["text"] == title


HOSTILE = "<!channel> <https://evil.example|click> @here *bold* `x`\n\x1b[31m\u202e"


def test_what_traces_contain_calls_nobody_and_marks_nothing_up() -> None:
    summary = summary_of_rows([{"service": HOSTILE}], more=False)
    state = replace(FRESH, summary=summary)
    body = body_of(message(state=state, rows=[{"service": HOSTILE}] * 2))
    assert not {"<", ">"} & set(body["text"])
    assert "@here" not in body["text"]
    assert "\x1b" not in summary
    assert "\u202e" not in summary
    texts = [block["text"] for block in body["blocks"] if "text" in block]
    texts += [element for block in body["blocks"] for element in block.get("elements", [])]
    assert {text["type"] for text in texts} == {"plain_text"}


def test_messages_are_bounded() -> None:
    rows = [{f"column {n}" * 100: "x" * 100_000 for n in range(20)} for _ in range(ROWS_SHOWN + 5)]
    body = body_of(message(rows=rows, description="d" * 10_000))
    assert len(json.dumps(body)) < 120_000
    sections = [b["text"]["text"] for b in body["blocks"] if b["type"] == "section"]
    assert all(len(text) <= SECTION_CHARACTERS for text in sections)
    assert len(body["blocks"][0]["text"]["text"]) <= 150


def test_numbers_that_json_cannot_hold_become_null() -> None:
    body = body_of(message(rows=[{"rate": float("nan"), "n": float("inf")}]))
    assert body["tracejury"]["rows"] == [{"rate": None, "n": None}]


@pytest.mark.parametrize(
    ("rows", "more", "summary"),
    [
        ([], False, "no row"),
        ([{"n": 3}], False, "1 row: n 3"),
        ([{"n": 3}, {"n": 4}], False, "2 rows: n 3"),
        ([{"n": 1 / 3}] * 10, True, "more than 10 rows: n 0.333333"),
        ([{"a": None, "b": True}], False, "1 row: a None, b True"),
    ],
)
def test_rows_are_told_in_a_line(rows: list[dict[str, object]], more: bool, summary: str) -> None:
    assert summary_of_rows(rows, more=more) == summary


WAITING = Waiting(delivery_id="d", alert="a", body=b"{}", attempts=0, created_at_ns=START_NS)


def answered(status: int, retry_after: str = "", body: bytes = b"") -> Reply:
    return Reply(status=status, body=body, location="/token", retry_after=retry_after)


def test_an_answer_delivers_and_anything_else_waits() -> None:
    done = attempt_of(WAITING, answered(204), START_NS)
    assert (done.status, done.attempts, done.next_attempt_at_ns) == ("delivered", 1, None)
    for again in (answered(404), answered(500), answered(302), "it gave no answer"):
        kept = attempt_of(WAITING, again, START_NS)
        assert kept.status == "waiting"
        assert kept.next_attempt_at_ns == START_NS + 2_000_000_000
        assert kept.error
        assert "token" not in kept.error


def test_what_the_webhook_asks_for_is_waited() -> None:
    kept = attempt_of(WAITING, answered(429, retry_after="30"), START_NS)
    assert kept.next_attempt_at_ns == START_NS + 30_000_000_000
    far = attempt_of(WAITING, answered(429, retry_after="999999"), START_NS)
    assert far.next_attempt_at_ns == START_NS + 300_000_000_000


def test_a_message_is_given_up_after_an_hour() -> None:
    old = replace(WAITING, attempts=20)
    gone = attempt_of(old, answered(500, body=b"oops"), START_NS + GIVE_UP_NS)
    assert (gone.status, gone.next_attempt_at_ns) == ("failed", None)
    assert gone.error == "it answered with status 500: oops"
