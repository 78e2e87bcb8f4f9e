"""Budgets hold to one judgement, over days and restarts, whatever judgements take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.worker import Bench, Clock, bench, root
from tests.unit.test_jury_lines import MODEL, job, seat
from tracejury.result import Failure, Score, Spent
from tracejury_collector.config import Budget, JudgeSettings
from tracejury_collector.in_force import budget_refusal
from tracejury_collector.jury.budgets import (
    DAY_NS,
    OVERALL,
    Admitted,
    Amount,
    Budgets,
    Refused,
    Wait,
)
from tracejury_collector.jury.gate import Gate, Ticket

JUDGE = "f1"
CENT = Spent(usd=0.01, input_tokens=90, output_tokens=10)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("budgets")) as built:
        yield built


def budgets(store: Bench, clock: Clock | None = None, **limits: Budget) -> Budgets:
    named = {OVERALL if name == "overall" else name: limit for name, limit in limits.items()}
    return Budgets(store.db, lambda: named, clock or store.clock)


def admitted(found: Admitted | Refused | Wait) -> Admitted:
    assert isinstance(found, Admitted)
    return found


def test_without_limits_everything_may_begin(store: Bench) -> None:
    gate = budgets(store)
    assert all(isinstance(gate.admit("r", JUDGE), Admitted) for _ in range(50))
    assert gate.states() == []


def test_the_first_judgement_is_alone_until_it_says_what_it_takes(store: Bench) -> None:
    gate = budgets(store, r=Budget(usd_per_day=1))
    first = admitted(gate.admit("r", JUDGE))
    assert isinstance(gate.admit("r", JUDGE), Wait)
    gate.settle(first, CENT)
    assert isinstance(gate.admit("r", JUDGE), Admitted)
    assert isinstance(gate.admit("r", JUDGE), Admitted)


def test_a_used_up_budget_refuses_with_the_figures(store: Bench) -> None:
    gate = budgets(store, r=Budget(usd_per_day=0.02))
    for _ in range(2):
        gate.settle(admitted(gate.admit("r", JUDGE)), CENT)
    assert gate.admit("r", JUDGE) == Refused(
        "the budget of rule 'r' is used up: 0.02 of 0.02 USD a day (UTC)"
    )
    assert gate.refusal("r") == "the budget of rule 'r' is used up: 0.02 of 0.02 USD a day (UTC)"
    assert gate.refusal("other") == ""


def test_all_rules_share_the_budget_of_all(store: Bench) -> None:
    gate = budgets(store, overall=Budget(tokens_per_day=150))
    gate.settle(admitted(gate.admit("a", JUDGE)), CENT)
    gate.settle(admitted(gate.admit("b", JUDGE)), CENT)
    assert gate.refusal("c") == "the budget of all rules is used up: 200 of 150 tokens a day (UTC)"


def test_a_price_that_is_unknown_ends_a_budget_in_dollars(store: Bench) -> None:
    gate = budgets(store, r=Budget(usd_per_day=1))
    gate.settle(admitted(gate.admit("r", JUDGE)), Spent(input_tokens=5, output_tokens=5))
    refused = gate.admit("r", JUDGE)
    assert isinstance(refused, Refused)
    assert "tokens_per_day" in refused.reason
    assert isinstance(gate.admit("r", "another"), Admitted)


def test_an_endpoint_that_does_not_tell_what_it_takes_is_not_asked_under_a_budget(
    store: Bench,
) -> None:
    gate = budgets(store, r=Budget(tokens_per_day=1000))
    gate.settle(admitted(gate.admit("r", JUDGE)), Spent())
    refused = gate.admit("r", JUDGE)
    assert isinstance(refused, Refused)
    assert "does not tell what it takes" in refused.reason


def test_what_is_not_told_later_is_charged_as_expected(store: Bench) -> None:
    gate = budgets(store, r=Budget(tokens_per_day=1000))
    gate.settle(admitted(gate.admit("r", JUDGE)), CENT)
    gate.settle(admitted(gate.admit("r", JUDGE)), Spent())
    assert gate.states()[0].spent == Amount(usd=0.02, tokens=200)
    assert isinstance(gate.admit("r", JUDGE), Admitted)


@pytest.mark.parametrize("kind", ["JudgeTimeout", "JudgeUnavailable", "JudgeRejected"])
def test_a_call_that_nobody_answered_does_not_end_a_budget(store: Bench, kind: str) -> None:
    kept = budgets(store, r=Budget(tokens_per_day=1000))
    doors = Gate(JudgeSettings(), kept, store.clock)
    asking = job(store.clock(), "", seat("judge", waits=True, asked=(MODEL,)))
    assert isinstance(doors.enter(asking), Ticket)
    doors.leave(asking, Failure(kind, "no answer", spent=Spent()))
    assert isinstance(doors.enter(asking), Ticket)
    doors.leave(asking, Score(1.0, spent=Spent()))
    assert "does not tell what it takes" in str(doors.enter(asking))


@pytest.mark.parametrize("spent", [None, Spent(usd=0.0, input_tokens=0, output_tokens=0)])
def test_what_cost_nothing_tells_nothing_of_the_next(store: Bench, spent: Spent | None) -> None:
    gate = budgets(store, r=Budget(tokens_per_day=1000))
    gate.settle(admitted(gate.admit("r", JUDGE)), spent)
    assert isinstance(gate.admit("r", JUDGE), Admitted)
    assert isinstance(gate.admit("r", JUDGE), Wait)


def test_a_judgement_that_died_is_charged_as_expected(store: Bench) -> None:
    gate = budgets(store, r=Budget(usd_per_day=1))
    gate.settle(admitted(gate.admit("r", JUDGE)), CENT)
    gate.settle(admitted(gate.admit("r", JUDGE)), None)
    assert gate.states()[0].spent == Amount(usd=0.02, tokens=200)


def test_a_new_day_begins_with_nothing_spent(store: Bench) -> None:
    clock = Clock()
    gate = budgets(store, clock, r=Budget(usd_per_day=0.01))
    gate.settle(admitted(gate.admit("r", JUDGE)), CENT)
    assert gate.refusal("r")
    clock.now_ns += DAY_NS
    assert gate.refusal("r") == ""


def test_what_was_spent_is_known_after_a_restart(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        store.judge(Score(1.0, spent=CENT))
        limit = Budget(usd_per_day=0.02)
        gate = budgets(store, default=limit)
        assert gate.states()[0].spent == Amount(usd=0.02, tokens=200)
        assert gate.refusal("default")
        assert budgets(store, default=Budget(usd_per_day=1)).refusal("default") == ""


def test_a_used_up_budget_ends_rules_with_judges_and_no_others(tmp_path: Path) -> None:
    judge = {"model": "openai:any", "base_url": "http://127.0.0.1:9/v1"}
    settings = {
        "evaluators": {"helpful": {"type": "llm-relevance", "config": judge}},
        "rules": {
            "costly": {"evaluators": ["helpful", "no-loops"]},
            "free": {"evaluators": ["no-loops"]},
        },
    }
    with bench(tmp_path, settings) as store:
        gate = budgets(store, overall=Budget(usd_per_day=0.01))
        gate.settle(admitted(gate.admit("costly", JUDGE)), CENT)
        in_force = store.definitions.in_force()
        for rule in ("costly", "free"):
            store.budget_refusals[rule] = budget_refusal(gate, in_force, rule)
        store.spans(root())
        store.after(4)
        found = store.rows("SELECT rule, outcome, reason FROM base.decisions ORDER BY rule")
        assert found == [
            (
                "costly",
                "over_budget",
                "the budget of all rules is used up: 0.01 of 0.01 USD a day (UTC)",
            ),
            ("free", "selected", "every trace that passes is judged"),
        ]


@given(
    costs=st.lists(st.floats(0.001, 0.5), min_size=1, max_size=60),
    order=st.randoms(use_true_random=False),
    limit=st.floats(0.01, 3),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_budget_is_overdrawn_by_at_most_one_judgement(
    store: Bench, costs: list[float], order: Random, limit: float
) -> None:
    gate = budgets(store, r=Budget(usd_per_day=limit))
    flying: list[tuple[Admitted, float]] = []
    taken: list[float] = []
    waiting, spent = list(costs), 0.0
    while waiting or flying:
        found = gate.admit("r", JUDGE) if waiting else Wait()
        if isinstance(found, Admitted):
            flying.append((found, waiting.pop()))
            continue
        if not flying:
            assert isinstance(found, Refused)
            break
        entry, cost = flying.pop(order.randrange(len(flying)))
        # what takes more than any before it is the one surprise that no reserve can foresee
        cost = min(cost, max(taken)) if taken else cost
        gate.settle(entry, Spent(usd=cost, input_tokens=1, output_tokens=1))
        taken.append(cost)
        spent += cost
    assert spent <= limit + max(taken) + 1e-9
    assert not waiting or spent >= limit - 1e-9
