"""Each rule decides once on each revision; selected decisions become jobs, jobs results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.evaluator import criteria_hash
from tracejury.result import Failure, Score, Skip
from tracejury_collector.config import EvaluatorSpec
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.intake import Intake
from tracejury_collector.store.results import Result, ResultsWrite

DECISIONS = "SELECT rule, revision, outcome, reason, probability FROM base.decisions"
RESULTS = "SELECT evaluator, revision, outcome, score, superseded FROM base.results ORDER BY ALL"
FAST = EvaluatorSpec(type="latency-budget", config={"budget_ms": 5000})
EVALUATORS = ["non-empty-output", "no-loops"]


def rules(**named: dict[str, Any]) -> dict[str, Any]:
    return {"rules": {name: {"evaluators": EVALUATORS, **spec} for name, spec in named.items()}}


def test_each_rule_decides_once_with_its_reason(tmp_path: Path) -> None:
    settings = rules(
        every={},
        slow={"where": "latency_ms > 30000"},
        none={"sample": {"rate": 0.0}},
        booking={"where": "service_name = 'booking' AND NOT has_error"},
    )
    with bench(tmp_path, settings) as store:
        store.spans(root())
        store.after(4)
        assert sorted(store.rows(DECISIONS)) == [
            (
                "booking",
                1,
                "selected",
                "every trace that passes is judged",
                1.0,
            ),
            ("every", 1, "selected", "every trace that passes is judged", 1.0),
            ("none", 1, "sampled_out", "not in the sample of 0 %", 0.0),
            ("slow", 1, "filtered", "the condition 'latency_ms > 30000' does not hold", None),
        ]
        assert store.rows("SELECT rule FROM base.jobs ORDER BY rule") == [("booking",), ("every",)]


def test_a_condition_that_fails_fails_only_where_it_does(tmp_path: Path) -> None:
    settings = rules(numbered={"where": "CAST(service_name AS INTEGER) > 5"})
    with bench(tmp_path, settings) as store:
        store.spans(root(1, service_name="7", resource="{}"))
        store.spans(root(2, service_name="3", resource="{}"), root(3, service_name="x"))
        store.after(4)
        outcomes = "SELECT target_id, outcome, reason FROM base.decisions ORDER BY target_id"
        one, two, three = store.rows(outcomes)
        assert one[:2] == (trace_id(1), "selected")
        assert two[:2] == (trace_id(2), "filtered")
        assert three[:2] == (trace_id(3), "condition_failed")
        assert "Conversion Error" in three[2]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("no_such_column > 1", "no_such_column"),
        ("latency_ms", "is DOUBLE, not true or false"),
        ("latency_ms >", r"rules\.wrong\.where"),
        ("read_text('/etc/passwd') <> ''", r"rules\.wrong\.where"),
        ("true) FROM base.spans; DROP TABLE base.spans; --", r"rules\.wrong\.where"),
    ],
)
def test_a_bad_condition_stops_the_start(tmp_path: Path, where: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words), bench(tmp_path, rules(wrong={"where": where})):
        pass


def test_conditions_see_the_facts_of_the_trace(tmp_path: Path) -> None:
    where = "tool_calls = 2 AND agent_name = 'booker' AND list_contains(models, 'x') IS NOT NULL"
    with bench(tmp_path, rules(tools={"where": where})) as store:
        store.spans(root(1), child(1), child(1, 3), root(2))
        store.after(4)
        found = store.rows("SELECT target_id, outcome FROM base.decisions ORDER BY ALL")
        assert found == [(trace_id(1), "selected"), (trace_id(2), "filtered")]


def test_sampling_is_nested_and_recorded(tmp_path: Path) -> None:
    few, many = {"sample": {"rate": 0.2}}, {"sample": {"rate": 0.6}}
    selected: list[set[str]] = []
    for place, spec in (("few", few), ("many", many)):
        (tmp_path / place).mkdir()
        with bench(tmp_path / place, rules(production=spec)) as store:
            store.spans(*[root(n) for n in range(1, 201)])
            store.after(4)
            found = "SELECT target_id FROM base.decisions WHERE outcome = 'selected'"
            selected.append({row[0] for row in store.rows(found)})
    assert 15 <= len(selected[0]) <= 70
    assert selected[0] < selected[1]


def test_no_rules_means_no_decisions(tmp_path: Path) -> None:
    with bench(tmp_path, {"rules": {}}) as store:
        store.spans(root())
        assert store.after(4) == 1
        assert store.rows(DECISIONS) == []


def test_results_finish_a_job(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        assert store.judge(Score(0.5, verdict="partial", reason="half", hits=["a"])) == 2
        assert store.rows(RESULTS) == [
            ("no-loops", 1, "score", 0.5, False),
            ("non-empty-output", 1, "score", 0.5, False),
        ]
        assert store.rows("FROM base.jobs") == []
        assert store.judge(Skip("again")) == 0


@pytest.mark.parametrize("outcome", [Skip("nothing there"), Failure("KeyError", "'x'", "tb")])
def test_what_is_no_score_has_none(tmp_path: Path, outcome: Skip | Failure) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        store.judge(outcome)
        assert {row[3] for row in store.rows(RESULTS)} == {None}


def test_results_of_an_old_revision_are_superseded(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        store.judge(Score(1.0))
        store.spans(child())
        store.after(4)
        store.judge(Score(0.0))
        assert store.rows(RESULTS) == [
            ("no-loops", 1, "score", 1.0, True),
            ("no-loops", 2, "score", 0.0, False),
            ("non-empty-output", 1, "score", 1.0, True),
            ("non-empty-output", 2, "score", 0.0, False),
        ]
        decided = store.rows("SELECT revision, outcome FROM base.decisions ORDER BY ALL")
        assert decided == [(1, "selected"), (2, "selected")]


def test_an_old_revision_is_judged_no_more(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        store.spans(child())
        store.after(4)
        assert store.rows("SELECT revision FROM base.jobs") == [(2,)]


def test_results_that_come_after_the_next_revision_are_superseded(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        finish = _late_judge(store)
        store.spans(child())
        store.after(4)
        finish()
        assert {row[4] for row in store.rows(RESULTS)} == {True}
        assert len(store.rows(RESULTS)) == 2
        assert store.rows("SELECT revision FROM base.jobs") == [(2,)]


def test_a_result_is_stored_once_however_often_it_comes(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        finish = _late_judge(store)
        finish()
        store.judge(Score(0.0))
        finish()
        assert [row[3] for row in store.rows(RESULTS)] == [1.0, 1.0]


def test_every_step_survives_a_restart(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(root(), child())
        store.restart()
        store.after(4)
        store.restart()
        assert store.worker.tick() == 0
        assert store.judge(Score(1.0)) == 2
        store.restart()
        assert store.judge(Score(0.0)) == 0
        store.spans(child(number=3))
        store.restart()
        store.after(4)
        store.restart()
        store.after(4)
        assert store.judge(Score(0.5)) == 2
        store.restart()
        assert store.rows("SELECT revision FROM base.decisions ORDER BY ALL") == [(1,), (2,)]
        assert [(row[1], row[3], row[4]) for row in store.rows(RESULTS)] == [
            (1, 1.0, True),
            (2, 0.5, False),
        ] * 2


def test_a_job_is_judged_by_the_version_that_was_in_force_when_it_was_selected(
    tmp_path: Path,
) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        before = store.definitions.in_force().seats["no-loops"]
        store.config = store.config.model_copy(
            update={"rules": {}, "evaluators": {"no-loops": FAST}}
        )
        store.restart()
        ((_, job, clear),) = Intake(store.db, store.definitions.seat_of).read_all(10)
        assert clear == {}
        assert job.pairs["no-loops"].seat == before
        assert before != store.definitions.in_force().seats["no-loops"]
        store.judge(Score(1.0))
        rows = store.rows("SELECT evaluator, type, fingerprint FROM base.results ORDER BY ALL")
        assert rows[0] == ("no-loops", "no-loops", before.fingerprint)


def test_an_evaluator_that_no_definition_knows_skips(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        store.db.write(
            lambda connection: connection.execute("DELETE FROM base.definitions")
        ).result()
        store.config = store.config.model_copy(
            update={"rules": {}, "evaluators": {"no-loops": FAST}}
        )
        store.restart()
        store.judge(Score(1.0))
        rows = store.rows("SELECT evaluator, outcome, reason FROM base.results ORDER BY ALL")
        reason = "the evaluator 'no-loops' was changed before it could judge this"
        assert rows[0] == ("no-loops", "skip", reason)


def _late_judge(store: Bench) -> Any:
    """Return what writes the results of the jobs that are there now, whenever it is called."""
    jobs = Intake(store.db, store.definitions.seat_of).read_all(100)
    results = [
        Result(
            job=job.pending,
            evaluator=name,
            type=pair.seat.type,
            fingerprint=pair.seat.fingerprint,
            criteria_hash=criteria_hash({}),
            outcome=Score(1.0),
            duration_ms=1.0,
            created_at_ns=store.clock(),
        )
        for _, job, _ in jobs
        for name, pair in job.pairs.items()
    ]
    return lambda: store.db.write(ResultsWrite(results)).result()


def test_a_decision_says_where_its_trace_belongs_and_what_came_before(tmp_path: Path) -> None:
    found = "SELECT project, session_id, sampled_by, probability, upstream_probability FROM main."
    attributes = '{"gen_ai.operation.name":"invoke_agent","gen_ai.conversation.id":"c-1"}'
    with bench(tmp_path, rules(half={"sample": {"rate": 0.0}})) as store:
        store.spans(root(project="shop", attributes=attributes, trace_state="ot=th:c"))
        store.after(4)
        assert store.rows(found + "decisions") == [("shop", "c-1", "trace", 0.0, 0.25)]
        store.spans(child(trace_state=""))
        store.after(4)
        upstream = "SELECT upstream_probability FROM base.traces ORDER BY revision"
        assert store.rows(upstream) == [(0.25,), (0.25,)]


def test_traces_of_judges_are_never_judged(tmp_path: Path) -> None:
    with bench(tmp_path, rules(every={})) as store:
        store.spans(root(project="tracejury-judges"))
        store.after(4)
        reason = "it is a trace of the jury's own judges"
        assert store.rows(DECISIONS) == [("every", 1, "filtered", reason, None)]
        assert store.rows("SELECT * FROM base.jobs") == []
