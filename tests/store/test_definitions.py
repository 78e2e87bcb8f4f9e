"""The book of definitions: what is recorded, what is found again, and what stays secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import Bench, bench, root
from tracejury.errors import DefinitionError
from tracejury.result import Score
from tracejury_collector.config import EvaluatorSpec, RuleSpec, parse_config
from tracejury_collector.errors import ConfigError, Unavailable
from tracejury_collector.jury.intake import Intake
from tracejury_collector.store.definitions import (
    DefinitionEvent,
    append_definitions,
    latest_definitions,
)

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


def evaluator(**spec: Any) -> EvaluatorSpec:
    return EvaluatorSpec.model_validate(spec)


def rule(*evaluators: str, **spec: Any) -> RuleSpec:
    return RuleSpec.model_validate({"evaluators": list(evaluators), **spec})


def shown(store: Bench) -> dict[str, tuple[str, str, str]]:
    """Return source, version and fault of everything that is defined, by kind and name."""
    return {
        f"{kind} {d.name}": (d.source, d.version, d.fault)
        for kind in ("rule", "evaluator")
        for d in store.definitions.of_kind(kind)
    }


NAMED: dict[str, Any] = settings(ours=FAST)
SLOW: dict[str, Any] = {"type": "latency-budget", "config": {"budget_ms": 9000}}


def test_a_restart_in_between_changes_nothing(tmp_path: Path) -> None:
    with bench(tmp_path, NAMED) as store:
        store.definitions.put("fast", evaluator(**SLOW, timeout=3))
        members = {"members": ["fast", "ours"]}
        store.definitions.put("both", evaluator(type="composite", config=members))
        store.definitions.put("extra", rule("both", "fast", where="NOT has_error"))
        store.definitions.put("gone", rule("fast"))
        store.definitions.delete("rule", "gone")
        before, in_force = shown(store), store.definitions.in_force()
        times = store.rows("SELECT kind, name, effective_from FROM definitions ORDER BY ALL")
        store.clock.advance(60)
        store.restart()
        assert shown(store) == before
        assert store.definitions.in_force().rules == in_force.rules
        assert store.definitions.in_force().seats == in_force.seats
        assert times == store.rows(
            "SELECT kind, name, effective_from FROM definitions ORDER BY ALL"
        )


def test_what_was_selected_is_judged_by_its_version_whatever_the_api_changes(
    tmp_path: Path,
) -> None:
    with bench(tmp_path, NAMED) as store:
        store.definitions.put("fast", evaluator(**FAST, criteria={}))
        store.definitions.put("fast", evaluator(**SLOW))
        store.definitions.put("extra", rule("fast"))
        first = store.definitions.in_force().seats["fast"]
        store.spans(root(1))
        store.after(4)
        other = {**SLOW, "config": {"budget_ms": 1}}
        store.definitions.put("fast", evaluator(**other))
        second = store.definitions.in_force().seats["fast"]
        store.spans(root(2))
        store.after(4)
        store.definitions.delete("rule", "extra")
        store.definitions.delete("evaluator", "fast")
        store.spans(root(3))
        store.after(4)
        store.restart()
        jobs = [job for _, job, _ in Intake(store.db, store.definitions.seat_of).read_all(10)]
        extra = [job.pairs["fast"].seat for job in jobs if job.pending.rule == "extra"]
        assert extra == [first, second]
        assert store.judge(Score(1.0)) == 5
        rows = store.rows(
            "SELECT fingerprint FROM base.results WHERE rule = 'extra' ORDER BY trace_id"
        )
        assert rows == [(first.fingerprint,), (second.fingerprint,)]


def test_the_file_wins_a_name_and_lets_it_go_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with bench(tmp_path, NAMED) as store:
        store.definitions.put("fast", evaluator(**SLOW))
        store.definitions.put("extra", rule("fast"))
        before = shown(store)
        taken = settings(ours=FAST, fast={**FAST, "config": {"budget_ms": 1}})
        restarted(store, taken)
        assert shown(store)["evaluator fast"][0] == "file"
        assert "'fast' of the API gives way to that of the configuration" in caplog.text
        assert store.definitions.in_force().seats["fast"].config == {"budget_ms": 1}
        store.restart()
        restarted(store, NAMED)
        assert shown(store) == before
        sources = store.rows(
            "SELECT source FROM definitions WHERE name = 'fast' ORDER BY effective_from"
        )
        assert sources == [("api",), ("file",), ("api",)]


def test_what_cannot_be_used_any_more_is_shown_and_comes_back(tmp_path: Path) -> None:
    with bench(tmp_path, NAMED) as store:
        store.definitions.put("extra", rule("ours"))
        store.definitions.put("other", rule("no-loops"))
        before = shown(store)
        restarted(store, {"rules": {}})
        assert "no evaluator is named 'ours'" in shown(store)["rule extra"][2]
        assert {r.name for r in store.definitions.in_force().rules} == {"other"}
        assert ("rule", "extra", "api", True) not in store.rows(VIEW)
        store.restart()
        assert "no evaluator is named 'ours'" in shown(store)["rule extra"][2]
        store.definitions.put("ours", evaluator(**FAST))
        assert shown(store)["rule extra"][2] == ""
        assert {r.name for r in store.definitions.in_force().rules} == {"other", "extra"}
        restarted(store, NAMED)
        assert shown(store) == before
        assert ("rule", "extra", "api", True) in store.rows(VIEW)


def test_an_evaluator_whose_type_is_gone_stays_as_it_was(tmp_path: Path) -> None:
    with bench(tmp_path, NAMED) as store:
        store.definitions.put("fast", evaluator(**SLOW))
        store.definitions.put("extra", rule("fast"))
        seat = store.definitions.in_force().seats["fast"]
        build = store.registry.build

        def without_it(type_name: str, config: Any = None) -> Any:
            if type_name == "latency-budget" and config == SLOW["config"]:
                raise DefinitionError("evaluator type 'latency-budget' is unknown")
            return build(type_name, config)

        store.registry.build = without_it  # type: ignore[method-assign]
        store.restart()
        assert "is unknown" in shown(store)["evaluator fast"][2]
        assert store.definitions.in_force().seats["fast"] == seat
        assert {r.name for r in store.definitions.in_force().rules} == {"production", "extra"}
        store.registry.build = build  # type: ignore[method-assign]
        store.restart()
        assert shown(store)["evaluator fast"][2] == ""


def test_a_definition_that_a_newer_release_wrote_is_kept(tmp_path: Path) -> None:
    with bench(tmp_path, NAMED) as store:
        body = '{"evaluators": ["ours"], "of_the_future": 1}'
        event = DefinitionEvent(
            kind="rule",
            name="newer",
            source="api",
            fingerprint="f1",
            body=body,
            effective_from_ns=store.clock.now_ns,
        )
        append_definitions(store.db, [event]).result()
        store.restart()
        assert "rule newer" not in shown(store)
        store.definitions.put("extra", rule("ours"))
        assert ("rule", "newer", "api", True) in store.rows(VIEW)


def test_nothing_holds_that_could_not_be_written(tmp_path: Path) -> None:
    with bench(tmp_path, NAMED) as store:
        before, in_force = shown(store), store.definitions.in_force()
        store.db.close()
        with pytest.raises(Unavailable):
            store.definitions.put("extra", rule("ours"))
        assert shown(store) == before
        assert store.definitions.in_force() is in_force


def test_a_change_that_breaks_another_rule_changes_nothing(tmp_path: Path) -> None:
    with bench(tmp_path, NAMED) as store:
        store.definitions.put("fast", evaluator(**SLOW))
        store.definitions.put("extra", rule("ours", "fast"))
        before = shown(store)
        with pytest.raises(ConfigError, match=r"evaluators: .* the same evaluator"):
            store.definitions.put("fast", evaluator(**FAST))
        assert shown(store) == before
        store.restart()
        assert shown(store) == before


def test_history_is_bounded_and_what_is_defined_is_kept(tmp_path: Path) -> None:
    with bench(tmp_path, NAMED) as store:
        store.definitions.put("fast", evaluator(**SLOW))
        store.definitions.put("extra", rule("fast"))
        store.definitions.put("gone", rule("ours"))
        store.definitions.delete("rule", "gone")
        before = shown(store)
        events = [
            DefinitionEvent(
                kind="trial",
                name=f"t{n}",
                source="api",
                fingerprint=f"{n}",
                body="{}",
                effective_from_ns=store.clock.now_ns,
            )
            for n in range(30)
        ]
        append_definitions(store.db, events, kept=5).result()
        left = {(e.kind, e.name) for e in latest_definitions(store.db)}
        assert ("rule", "gone") not in left
        assert len(store.rows("SELECT 1 FROM base.definitions WHERE kind = 'trial'")) == 5
        store.restart()
        assert shown(store) == before
