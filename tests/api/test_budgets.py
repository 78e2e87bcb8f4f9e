"""Budgets in the API, the command line and the metrics."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.api import running_api
from tracejury.result import Spent
from tracejury_collector.jury.budgets import Admitted

RULES = {
    "judged": {"evaluators": ["no-loops"], "budget": {"usd_per_day": 0.02}},
    "free": {"evaluators": ["no-loops"]},
}


def test_budgets_tell_what_was_spent_and_why_no_more_may_be(tmp_path: Path) -> None:
    with running_api(tmp_path, rules=RULES, budget={"tokens_per_day": 1000}) as api:
        assert [item["rule"] for item in api.get("/api/budgets")["items"]] == ["", "judged"]
        for _ in range(2):
            admitted = api.context.budgets.admit("judged", "f1")
            assert isinstance(admitted, Admitted)
            spent = Spent(usd=0.01, input_tokens=90, output_tokens=10)
            api.context.budgets.settle(admitted, spent)
        overall, judged = api.get("/api/budgets")["items"]
        assert (overall["spent_tokens"], overall["tokens_per_day"]) == (200, 1000)
        assert overall["refusal"] == ""
        assert (judged["spent_usd"], judged["usd_per_day"]) == (0.02, 0.02)
        assert "used up: 0.02 of 0.02 USD" in judged["refusal"]
        metrics = api.http.get("/metrics").text
        assert 'tracejury_budget_usd_spent{rule="judged"} 0.02' in metrics
        assert 'tracejury_budget_tokens_limit{rule=""} 1000.0' in metrics


def test_without_budgets_the_list_is_empty(tmp_path: Path) -> None:
    with running_api(tmp_path) as api:
        assert api.get("/api/budgets")["items"] == []
