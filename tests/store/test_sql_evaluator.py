"""Evaluators that are a query: asked by the store about many runs at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers.databases import open_database
from tests.helpers.jury import room, wait_until
from tests.helpers.revisions import put
from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.evaluator import run_evaluator
from tracejury.result import Failure, Score, Skip
from tracejury.testing import make_trace
from tracejury_collector.errors import ConfigError, SqlRefused
from tracejury_collector.store.database import Database
from tracejury_collector.store.sqljudging import check_judging, judge
from tracejury_evaluators.sql import Sql

PAGE = (Path(__file__).parents[2] / "docs" / "evaluators" / "sql.md").read_text("utf-8")
EXAMPLES = [
    spec["config"]["sql"]
    for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    for spec in yaml.safe_load(block)["evaluators"].values()
]
FAST = "SELECT trace_id, latency_ms < 10000 AS passed FROM traces"
SLOW = (
    "SELECT trace_id, (SELECT count(*) FROM range(100000) AS a, range(1000000) AS b "
    "WHERE a.range + b.range = length(trace_id)) > 0 AS passed FROM targets"
)


@contextmanager
def holding(path: Path, *outputs: str) -> Iterator[tuple[Database, list[tuple[str, int]]]]:
    """A database with a trace for each output, and the targets that they are."""
    traces = [make_trace(output=text, trace_id=trace_id(n)) for n, text in enumerate(outputs, 1)]
    with open_database(path / "t.duckdb") as db:
        put(db, *traces)
        yield db, [(trace.trace_id, trace.revision) for trace in traces]


def settings(sql: str, *others: str, **config: Any) -> dict[str, Any]:
    return {
        "evaluators": {"asked": {"type": "sql", "config": {"sql": sql, **config}}},
        "rules": {"default": {"evaluators": ["asked", *others]}},
    }


def select(store: Bench, traces: int) -> None:
    store.spans(*[root(n) for n in range(1, traces + 1)])
    store.clock.advance(4)
    while store.worker.tick():
        pass


def judged(store: Bench, directory: Path, processes: int = 0) -> None:
    with room(store, directory, processes) as jury:
        jury.until_judged()


@pytest.mark.parametrize("sql", EXAMPLES)
def test_a_query_on_the_page_can_be_used(sql: str) -> None:
    check_judging(Sql(sql=sql))


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT trace_id FROM traces", "one of score and passed"),
        ("SELECT trace_id, 1 AS score, true AS passed FROM traces", "one of score and passed"),
        ("SELECT true AS passed", "it gives no trace_id"),
        ("SELECT trace_id, 'yes' AS passed FROM traces", "'passed' is VARCHAR; CAST it to BOOLEAN"),
        ("SELECT trace_id, true AS score FROM traces", "'score' is BOOLEAN; CAST it to DOUBLE"),
        ("SELECT trace_id, 1 AS score, 'a' AS hits FROM traces", r"CAST it to VARCHAR\[\]"),
        ("SELECT trace_id, 1 AS score, name FROM traces", "it gives a column 'name'"),
        ("SELECT trace_id, 1 AS score, trace_id FROM traces", "it gives a column 'trace_id_1'"),
        ("SELECT trace_id, latency > 1 AS passed FROM traces", "latency"),
        ("SELECT trace_id, true AS passed FROM tracs", "there is no table 'tracs'"),
        ("SELECT trace_id, true AS passed FROM judged_targets", "there is no table"),
        ("SELECT trace_id, true AS passed FROM base.traces", "is not allowed"),
        ("DELETE FROM traces", "only SELECT is allowed"),
        ("EXPLAIN SELECT trace_id, true AS passed FROM traces", "only SELECT is allowed"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT trace_id, true AS passed FROM targets) AS x --", "syntax error"),
        ("SELECT * FROM read_csv('/etc/passwd')", "not allowed"),
        ("SELECT trace_id, true AS passed FROM targets WHERE trace_id = ?", "parameter"),
    ],
)
def test_a_query_that_cannot_be_used_is_refused(sql: str, message: str) -> None:
    with pytest.raises(SqlRefused, match=f"(?i){message}"):
        check_judging(Sql(sql=sql))


def test_a_query_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    message = r"evaluators.asked: config.sql: this query cannot be used: .*'tracs'"
    with (
        pytest.raises(ConfigError, match=message),
        bench(tmp_path, settings("SELECT trace_id, true AS passed FROM tracs")),
    ):
        pass


def test_outside_of_the_service_there_is_no_judgement() -> None:
    outcome = run_evaluator(Sql(sql=FAST), make_trace())
    assert isinstance(outcome, Skip)
    assert "there is none here" in outcome.reason


def test_only_the_run_on_which_a_query_fails_has_a_failure(tmp_path: Path) -> None:
    outputs = ["7", "8", "many", "2", "9"]
    query = Sql(
        sql="SELECT trace_id, CAST(output AS INTEGER) > 5 AS passed "
        "FROM targets JOIN traces USING (trace_id, revision)"
    )
    with holding(tmp_path, *outputs) as (db, targets):
        outcomes = judge(db, query, targets, 30)
    found = [o.verdict if isinstance(o, Score) else type(o).__name__ for o in outcomes.values()]
    assert found == ["pass", "pass", "Failure", "fail", "pass"]


def test_rows_of_other_runs_are_left_aside(tmp_path: Path) -> None:
    with holding(tmp_path, "a", "b", "c") as (db, targets):
        outcomes = judge(db, Sql(sql=FAST), targets[:1], 30)
    assert list(outcomes) == targets[:1]


def test_a_revision_that_is_no_longer_the_current_one_is_not_judged(tmp_path: Path) -> None:
    with holding(tmp_path, "a") as (db, [(id_, revision)]):
        outcomes = judge(db, Sql(sql=FAST), [(id_, revision), (id_, revision + 1)], 30)
    assert isinstance(outcomes[id_, revision], Score)
    assert isinstance(outcomes[id_, revision + 1], Skip)


def test_a_query_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with holding(tmp_path, "a", "b") as (db, targets):
        outcomes = judge(db, Sql(sql=SLOW), targets, 0.3)
        assert db.rows("last_finished") is not None
    assert [o.error_type for o in outcomes.values() if isinstance(o, Failure)] == ["timeout"] * 2


def test_every_run_is_judged_once_beside_the_evaluators_of_the_processes(tmp_path: Path) -> None:
    with bench(tmp_path, settings(FAST, "no-loops")) as store:
        select(store, 600)
        judged(store, tmp_path, processes=1)
        pairs = (
            "SELECT evaluator, count(*), count(DISTINCT trace_id) FROM base.results GROUP BY ALL"
        )
        assert sorted(store.rows(pairs)) == [("asked", 600, 600), ("no-loops", 600, 600)]
        (row,) = store.rows(
            "SELECT DISTINCT type, outcome, verdict, length(fingerprint), superseded "
            "FROM base.results WHERE evaluator = 'asked'"
        )
        assert row == ("sql", "score", "pass", 16, False)
        attempts = "SELECT evaluator, count(*), max(n) FROM base.attempts GROUP BY ALL"
        assert sorted(store.rows(attempts)) == [("asked", 600, 1), ("no-loops", 600, 1)]


def test_queries_judge_while_there_is_no_jury_process_and_slow_ones_hold_nobody_up(
    tmp_path: Path,
) -> None:
    both = settings(SLOW, "no-loops")
    both["evaluators"]["asked"]["timeout"] = "1s"
    with bench(tmp_path, both) as store:
        select(store, 3)
        with room(store, tmp_path, processes=1) as jury:
            of_processes = "SELECT count(*) FROM base.results WHERE evaluator = 'no-loops'"
            wait_until(lambda: store.rows(of_processes) == [(3,)])
            jury.until_judged()
        failures = "SELECT DISTINCT error_type FROM base.results WHERE evaluator = 'asked'"
        assert store.rows(failures) == [("timeout",)]


def test_the_job_stays_until_both_its_parts_are_judged(tmp_path: Path) -> None:
    with bench(tmp_path, settings(FAST, "no-loops")) as store:
        select(store, 2)
        with room(store, tmp_path, processes=0):
            by_query = "SELECT count(*) FROM base.results WHERE evaluator = 'asked'"
            wait_until(lambda: store.rows(by_query) == [(2,)])
        assert store.rows("SELECT count(*) FROM base.jobs") == [(2,)]
        store.restart()
        judged(store, tmp_path, processes=1)
        counts = "SELECT evaluator, count(*) FROM base.results GROUP BY ALL"
        assert sorted(store.rows(counts)) == [("asked", 2), ("no-loops", 2)]


def test_a_newer_revision_is_judged_instead_of_the_former(tmp_path: Path) -> None:
    count = (
        "SELECT trace_id, span_count = 2 AS passed FROM targets JOIN traces "
        "USING (trace_id, revision)"
    )
    with bench(tmp_path, settings(count)) as store:
        select(store, 1)
        store.spans(child(1))
        store.clock.advance(4)
        store.worker.tick()
        judged(store, tmp_path)
        rows = "SELECT revision, verdict FROM base.results WHERE NOT superseded"
        assert store.rows(rows) == [(2, "pass")]


def test_a_query_that_takes_too_much_memory_fails_alone(tmp_path: Path) -> None:
    greedy = (
        "SELECT trace_id, len((SELECT list(a.range) FROM range(100000000) AS a)) > 0 AS passed "
        "FROM targets"
    )
    with holding(tmp_path, "a") as (db, targets):
        (outcome,) = judge(db, Sql(sql=greedy), targets, 30).values()
        assert isinstance(outcome, Failure)
        assert outcome.error_type == "SqlFailed"
        (after,) = judge(db, Sql(sql=FAST), targets, 30).values()
        assert isinstance(after, Score)
