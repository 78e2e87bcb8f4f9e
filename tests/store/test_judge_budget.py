"""Judgements that cost are let in while the budget lasts, one at a time near its end."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.worker import bench
from tests.unit.test_jury_gate import GOOD, Now, asking
from tracejury.result import Failure, Skip
from tracejury_collector.config import Budget, JudgeSettings
from tracejury_collector.jury.budgets import Budgets
from tracejury_collector.jury.gate import Gate, Hold, Ticket


def test_judgements_are_charged_with_what_they_took_and_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    now = Now()
    with bench(tmp_path) as store:
        limit = Budget(tokens_per_day=250)
        budgets = Budgets(store.db, lambda: {"r": limit}, now.ns)
        doors = Gate(JudgeSettings(), budgets, now.ns, now)
        first, second = asking(now), asking(now)
        assert isinstance(doors.enter(first), Ticket)
        held = doors.enter(second)
        assert isinstance(held, Hold)
        assert "one judgement at a time" in held.reason
        doors.leave(first, GOOD)
        assert isinstance(doors.enter(second), Ticket)
        doors.leave(second, Skip("nothing to judge"))
        assert [state.spent.tokens for state in budgets.states()] == [120]
        for _ in range(2):
            each = asking(now)
            assert isinstance(doors.enter(each), Ticket)
            doors.leave(each, GOOD)
        refused = doors.enter(asking(now))
        assert isinstance(refused, Skip)
        assert "the budget of rule 'r' is used up: 360 of 250 tokens" in refused.reason


def test_what_never_began_costs_nothing_and_what_was_killed_costs_as_much_as_others(
    tmp_path: Path,
) -> None:
    now = Now()
    with bench(tmp_path) as store:
        limit = Budget(tokens_per_day=10_000)
        budgets = Budgets(store.db, lambda: {"r": limit}, now.ns)
        doors = Gate(JudgeSettings(), budgets, now.ns, now)
        for outcome, was_sent, spent in (
            (GOOD, True, 120),
            (None, False, 120),
            (None, True, 240),
            (Failure("timeout", "ran longer than 9 s and was stopped"), True, 360),
        ):
            each = asking(now)
            assert isinstance(doors.enter(each), Ticket)
            doors.leave(each, outcome, was_sent=was_sent)
            assert [state.spent.tokens for state in budgets.states()] == [spent]
