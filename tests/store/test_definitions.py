"""The book of definitions: what is recorded, what is found again, and what stays secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import Bench, bench
from tracejury_collector.config import EvaluatorSpec, parse_config
from tracejury_collector.errors import ConfigError

VIEW = "SELECT kind, name, source, deleted_at IS NULL FROM definitions ORDER BY ALL"
FAST: dict[str, Any] = {"type": "latency-budget", "config": {"budget_ms": 5000}}
RULES = {"production": {"evaluators": ["fast"]}}


def settings(**evaluators: Any) -> dict[str, Any]:
    return {"evaluators": evaluators, "rules": {"production": {"evaluators": list(evaluators)}}}


def restarted(store: Bench, config: dict[str, Any]) -> None:
    store.config = parse_config(config)
    store.restart()


def of_file(store: Bench) -> list[tuple[Any, ...]]:
    return [row for row in store.rows(VIEW) if row[2] == "file"]


def test_what_the_configuration_defines_is_recorded_once(tmp_path: Path) -> None:
    with bench(tmp_path, settings(fast=FAST)) as store:
        store.restart()
        assert of_file(store) == [
            ("evaluator", "fast", "file", True),
            ("rule", "production", "file", True),
        ]
        defaults = {name for _, name, source, _ in store.rows(VIEW) if source == "default"}
        assert defaults == {"non-empty-output", "no-tool-errors", "no-loops", "defined-tools"}
        [(body,)] = store.rows("SELECT body FROM definitions WHERE name = 'fast'")
        assert json.loads(body) == FAST


def test_a_changed_configuration_begins_new_versions_of_what_it_changes(tmp_path: Path) -> None:
    with bench(tmp_path, settings(fast=FAST)) as store:
        slower = {**FAST, "config": {"budget_ms": 9000}}
        restarted(store, settings(fast=slower))
        restarted(store, {"rules": {}})
        assert of_file(store) == [
            ("evaluator", "fast", "file", False),
            ("evaluator", "fast", "file", False),
            ("rule", "production", "file", False),
            ("rule", "production", "file", False),
        ]


def test_a_version_of_before_is_found_by_its_identity(tmp_path: Path) -> None:
    with bench(tmp_path, settings(fast=FAST)) as store:
        former = store.definitions.in_force().seats["fast"]
        restarted(store, {"rules": {}})
        assert "fast" not in store.definitions.in_force().seats
        assert store.definitions.seat_of(former.identity) == former
        assert store.definitions.seat_of("f00") is None


def test_a_candidate_is_found_again_after_a_restart(tmp_path: Path) -> None:
    with bench(tmp_path, settings(fast=FAST)) as store:
        candidate = EvaluatorSpec.model_validate({**FAST, "config": {"budget_ms": 7}})
        seat = store.definitions.trial(candidate, "fast")
        assert store.definitions.trial(candidate, "fast") == seat
        store.restart()
        assert store.definitions.seat_of(seat.identity) == seat
        assert store.definitions.in_force().seats["fast"] != seat
        assert ("trial", "fast", "api", True) in store.rows(VIEW)
        assert len([row for row in store.rows(VIEW) if row[0] == "trial"]) == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "latency-budget", "config": {"budget": 1}}, "evaluators.fast: .*budget_ms"),
        ({"type": "nothing-like-it"}, "evaluators.fast: .*'nothing-like-it' is unknown"),
        ({"type": "sql", "config": {"sql": "SELECT 1 AS score"}}, "evaluators.fast: .*trace_id"),
    ],
)
def test_a_candidate_that_cannot_be_built_is_refused(
    tmp_path: Path, spec: dict[str, Any], message: str
) -> None:
    with bench(tmp_path, settings(fast=FAST)) as store:
        with pytest.raises(ConfigError, match=message):
            store.definitions.trial(EvaluatorSpec.model_validate(spec), "fast")
        assert not [row for row in store.rows(VIEW) if row[0] == "trial"]


def test_no_secret_reaches_the_table(tmp_path: Path) -> None:
    hook = {
        "type": "webhook",
        "config": {
            "url": "https://checks.example.com/judge?token=s3cret-in-query",
            "headers": {"authorization": "Bearer s3cret"},
        },
    }
    both = {"type": "composite", "config": {"members": [{"evaluator": "hook"}, hook]}}
    with bench(tmp_path, settings(hook=hook, both=both)) as store:
        former = store.definitions.in_force().seats
        for (stored,) in store.rows("SELECT to_json(d)::VARCHAR FROM base.definitions AS d"):
            assert "s3cret" not in stored
        [(body,)] = store.rows("SELECT body FROM definitions WHERE name = 'hook'")
        assert json.loads(body)["config"] == {
            "url": "https://checks.example.com/judge?********",
            "headers": {"authorization": "********"},
        }
        restarted(store, {"rules": {}})
        assert store.definitions.seat_of(former["hook"].identity) is None
        assert store.definitions.seat_of(former["both"].identity) is None
