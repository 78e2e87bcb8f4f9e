"""Endpoints that fail are left alone, limits hold, and only what may succeed later is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.unit.test_jury_lines import MODEL, job, seat
from tracejury.result import Failure, Outcome, Score, Skip, Spent
from tracejury_collector.config import JudgeSettings
from tracejury_collector.jury.breaker import Breaker, BreakerPolicy
from tracejury_collector.jury.gate import Gate, Hold, Ticket, with_spent
from tracejury_collector.jury.jobs import Job
from tracejury_collector.jury.rates import Rate
from tracejury_evaluators.endpoint import Asked

POLICY = BreakerPolicy(open_after=3, pause_s=10.0, longest_pause_s=25.0)
OUT = Failure("JudgeUnavailable", "status 500", spent=Spent())
GOOD = Score(1.0, spent=Spent(usd=0.01, input_tokens=100, output_tokens=20))


@dataclass
class Now:
    """The time of both clocks."""

    s: float = 1000.0

    def __call__(self) -> float:
        return self.s

    def ns(self) -> int:
        return int(self.s * 1e9)


def gate(now: Now, **settings: Any) -> Gate:
    return Gate(JudgeSettings(**{"open_after": 3, **settings}), None, now.ns, now)


def asking(now: Now, name: str = "judge") -> Job:
    found = job(now.ns(), "", seat(name, waits=True, asked=(MODEL,)))
    found.is_sent = True
    return found


def run(doors: Gate, each: Job, outcome: Outcome) -> float | None:
    """Let a run in, give it this outcome; when it is to be repeated."""
    assert isinstance(doors.enter(each), Ticket)
    doors.leave(each, outcome)
    return doors.repeat_in_s(each, next(iter(each.pairs.values())), outcome)


def test_a_breaker_opens_after_failures_in_a_row() -> None:
    breaker = Breaker(POLICY)
    for _ in range(2):
        breaker.failed(0.0, "500")
    breaker.succeeded()
    for _ in range(3):
        assert breaker.may_ask(1.0)
        breaker.failed(1.0, "500")
    assert (breaker.state(1.0), breaker.may_ask(1.0), breaker.wait_s(1.0)) == ("open", False, 10.0)


def test_an_open_breaker_lets_one_try_at_a_time_and_pauses_longer_each_time() -> None:
    breaker, now_s = Breaker(POLICY), 0.0
    for _ in range(3):
        breaker.failed(now_s, "500")
    for pause_s in (10.0, 20.0, 25.0, 25.0):
        assert breaker.wait_s(now_s) == pause_s
        now_s += pause_s
        assert breaker.may_ask(now_s)
        breaker.asks()
        assert (breaker.state(now_s), breaker.may_ask(now_s)) == ("half_open", False)
        breaker.failed(now_s, "500")
    assert (breaker.opened, breaker.failures) == (1, 7)
    now_s += 25.0
    breaker.asks()
    breaker.succeeded()
    assert breaker.state(now_s) == "closed"


def test_what_was_under_way_when_it_opened_prolongs_no_pause() -> None:
    breaker = Breaker(POLICY)
    for _ in range(9):
        breaker.failed(0.0, "500")
    assert breaker.wait_s(0.0) == 10.0


def test_a_trial_that_ends_without_an_answer_lets_another_try() -> None:
    breaker = Breaker(POLICY)
    for _ in range(3):
        breaker.failed(0.0, "500")
    breaker.asks()
    breaker.ended()
    assert breaker.may_ask(10.0)


@pytest.mark.parametrize("amount", [1, 3, 40])
def test_a_rate_holds_over_time_whatever_is_taken_at_once(amount: int) -> None:
    rate, now_s, taken = Rate(60, 0.0), 0.0, 0
    while now_s < 600:
        wait_s = rate.wait_s(now_s)
        if wait_s:
            now_s += wait_s
            continue
        rate.take(amount, now_s)
        taken += amount
    assert 600 - amount <= taken <= 600 + amount + 5


def test_runs_wait_while_their_endpoint_is_out_and_go_on_when_it_is_back() -> None:
    now = Now()
    doors = gate(now)
    jobs = [asking(now, f"j{n}") for n in range(4)]
    assert [run(doors, each, OUT) for each in jobs[:3]] == [1.0, 1.0, 0.0]
    held = doors.enter(jobs[3])
    assert isinstance(held, Hold)
    assert held.is_outage
    assert held.reason == (
        "openai:gpt-5-mini at http://llm/v1 has failed 3 times in a row "
        "(JudgeUnavailable: status 500); it is asked again in 10 s"
    )
    now.s += 10
    assert isinstance(doors.enter(jobs[3]), Ticket)
    assert isinstance(doors.enter(jobs[2]), Hold)
    doors.leave(jobs[3], GOOD)
    assert isinstance(doors.enter(jobs[2]), Ticket)


def test_a_run_that_alone_fails_is_repeated_with_pauses_until_its_tries_are_used() -> None:
    now = Now()
    doors, poison, other = gate(now, tries=3), asking(now), asking(now, "other")
    for pause_s in (1.0, 2.0, None):
        assert run(doors, poison, OUT) == pause_s
        assert run(doors, other, GOOD) is None
    assert doors.repeats == {"judge": 2}


def test_tries_of_a_run_are_bounded_in_cost_and_their_cost_is_kept() -> None:
    now = Now()
    doors, each = gate(now, retry_usd=0.05, tries=10), asking(now)
    dear = Failure("JudgeTimeout", "late", spent=Spent(usd=0.03, input_tokens=5, output_tokens=0))
    assert run(doors, each, dear) == 1.0
    before = each.pairs["judge"].spent
    assert run(doors, each, dear) is None
    assert with_spent(dear, before).spent == Spent(usd=0.06, input_tokens=10, output_tokens=0)


def test_nobody_waits_longer_than_patience_for_an_endpoint() -> None:
    now = Now()
    doors, each = gate(now, patience=60.0, pause=50.0), asking(now)
    for n in range(3):
        run(doors, asking(now, f"j{n}"), OUT)
    assert isinstance(doors.enter(each), Hold)
    now.s += 50
    assert run(doors, asking(now, "trial"), OUT) == 0.0
    now.s += 11
    late = asking(now, "new")
    given_up = doors.enter(each)
    assert isinstance(given_up, Failure)
    assert given_up.error_type == "JudgeUnavailable"
    assert given_up.message.startswith("given up after 60 s: openai:gpt-5-mini at ")
    assert isinstance(doors.enter(late), Hold)


@pytest.mark.parametrize(
    "outcome",
    [
        GOOD,
        Skip("nothing to judge"),
        Failure("JudgeNonsense", "no ruling", spent=Spent(input_tokens=5)),
        Failure("JudgeRefused", "no", spent=Spent(input_tokens=5)),
        Failure("JudgeRejected", "status 400", spent=Spent()),
        Failure("ValueError", "a fault of the evaluator"),
    ],
)
def test_other_outcomes_stand_and_open_nothing(outcome: Outcome) -> None:
    now = Now()
    doors = gate(now)
    for n in range(9):
        assert run(doors, asking(now, f"j{n}"), outcome) is None
    assert [state for _, state in doors.places()] == ["closed"]


def test_who_asks_several_endpoints_does_not_tell_which_of_them_failed() -> None:
    now = Now()
    doors, other = gate(now), Asked(model="openai:gpt-5", url="http://other/v1")
    both = job(now.ns(), "", seat("both", waits=True, asked=(MODEL, other)))
    for _ in range(5):
        assert run(doors, both, OUT) is None
    assert {state for _, state in doors.places()} == {"closed"}
    for _ in range(3):
        run(doors, asking(now), OUT)
    states = {place.asked: state for place, state in doors.places()}
    assert states == {MODEL: "open", other: "closed"}


def test_limits_of_requests_and_tokens_hold_for_each_model() -> None:
    now = Now()
    doors = gate(now, requests_per_minute=60, limits={"openai:gpt-5": {"tokens_per_minute": 60}})
    begun = 0
    while isinstance(held := doors.enter(asking(now, f"j{begun}")), Ticket):
        begun += 1
    assert begun == 5
    assert isinstance(held, Hold)
    assert "the limit of requests a minute to openai:gpt-5-mini at " in held.reason
    other = job(
        1, "", seat("o", waits=True, asked=(MODEL.__class__(model="openai:gpt-5", url="x"),))
    )
    assert run(doors, other, GOOD) is None
    held = doors.enter(other)
    assert isinstance(held, Hold)
    assert "the limit of tokens a minute to openai:gpt-5 at x is reached" in held.reason
    now.s += 116
    assert isinstance(doors.enter(other), Ticket)
