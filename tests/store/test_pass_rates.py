"""Pass rates from the tables: which decisions count, for whom, and what is shown beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.api import START_NS
from tests.helpers.databases import fetch, open_database
from tests.helpers.judged import Decided, insert_decided
from tracejury_collector.store.database import Database
from tracejury_collector.store.pass_rates import HOUR_NS, PassRate, PassRateFilter, pass_rates


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with open_database(tmp_path / "db") as database:
        yield database


def decide(db: Database, *decided: Decided) -> None:
    db.write(lambda connection: insert_decided(connection, decided)).result(10)


def one(db: Database, wanted: PassRateFilter | None = None) -> PassRate:
    (row,) = pass_rates(db, wanted or PassRateFilter())
    return row


def rate(row: PassRate) -> float | None:
    return row.estimate.share.value if row.estimate else None


def test_an_empty_database_has_no_pass_rates(db: Database) -> None:
    assert pass_rates(db, PassRateFilter()) == []
    assert fetch(db, "SELECT * FROM pass_rates") == []


def test_judged_targets_are_weighted_by_both_samplings(db: Database) -> None:
    decide(
        db,
        Decided(number=1, verdict="pass", probability=0.1, upstream=0.5),
        Decided(number=2, verdict="fail"),
    )
    row = one(db)
    assert rate(row) == pytest.approx(20 / 21)
    assert row.mean_score == pytest.approx(20 / 21)
    assert (row.judged, row.passed) == (2, 1)
    assert row.traffic == pytest.approx(3)


def test_what_partly_passes_does_not_pass(db: Database) -> None:
    verdicts = ("pass", "partial", "fail", None)
    decide(db, *(Decided(number=n, verdict=v, score=0.9) for n, v in enumerate(verdicts)))
    assert (one(db).judged, one(db).passed) == (4, 1)


def test_a_score_without_a_verdict_passes_when_it_is_full(db: Database) -> None:
    decide(db, Decided(number=1, verdict=None, score=1.0))
    assert one(db).passed == 1


def test_what_has_no_verdict_is_shown_by_reason_and_is_no_part_of_the_rate(db: Database) -> None:
    others = ("over_budget", "overloaded", "condition_failed", "revision_limit", "sampled_out")
    decide(
        db,
        Decided(number=1),
        Decided(number=2, found="skip"),
        Decided(number=3, found="failure"),
        Decided(number=4, found=""),
        *(Decided(number=10 + n, outcome=o, probability=None) for n, o in enumerate(others)),
        Decided(number=30, outcome="filtered", probability=None),
    )
    row = one(db)
    assert (row.judged, rate(row), row.sampled_out, row.traffic) == (1, 1.0, 1, 9.0)
    assert set(row.excluded.values()) == {1}
    assert fetch(db, "SELECT judged, skipped, failed, pending, overloaded FROM pass_rates") == [
        (1, 1, 1, 1, 1)
    ]


def test_only_live_decisions_on_current_revisions_count(db: Database) -> None:
    decide(
        db,
        Decided(number=1, verdict="fail", superseded=True),
        Decided(number=1, verdict="pass", revision=2),
        Decided(number=2, verdict="fail", run_id="backfill"),
    )
    row = one(db)
    assert (row.judged, rate(row)) == (1, 1.0)


def test_another_version_of_an_evaluator_begins_another_row(db: Database) -> None:
    decide(
        db,
        Decided(number=1, version="zz", rule_version="a", verdict="fail"),
        Decided(number=2, version="aa", rule_version="b", at_ns=START_NS + HOUR_NS),
        Decided(
            number=3, outcome="sampled_out", rule_version="a", evaluator="", at_ns=START_NS + 5
        ),
    )
    old, new = pass_rates(db, PassRateFilter())
    assert (old.fingerprint, rate(old), old.sampled_out) == ("zz", 0.0, 1)
    assert (new.fingerprint, rate(new), new.sampled_out) == ("aa", 1.0, 0)
    assert old.last_decided_ns == START_NS + 5


def test_a_new_rate_of_the_sample_does_not_split_an_evaluator(db: Database) -> None:
    decide(
        db,
        Decided(number=1, rule_version="a", probability=0.5),
        Decided(number=2, rule_version="b", probability=0.1, verdict="fail"),
    )
    assert rate(one(db)) == pytest.approx(2 / 12)


def test_a_rule_that_never_judged_shows_its_traffic(db: Database) -> None:
    decide(db, Decided(number=1, outcome="sampled_out"), Decided(number=2, outcome="over_budget"))
    row = one(db)
    assert row.keys == {"rule": "live", "evaluator": None}
    assert (row.estimate, row.traffic, row.excluded["over_budget"]) == (None, 2.0, 1)


def test_rates_are_divided_by_what_is_asked_for(db: Database) -> None:
    decide(
        db,
        Decided(number=1, service="a", agent=None, models=("m", "n", "m"), project="p"),
        Decided(number=2, service="b", models=(), at_ns=START_NS + HOUR_NS),
    )
    by_service = pass_rates(db, PassRateFilter(keys=("service",)))
    assert [(row.keys["service"], row.judged) for row in by_service] == [("a", 1), ("b", 1)]
    by_model = pass_rates(db, PassRateFilter(keys=("model",)))
    assert [row.keys["model"] for row in by_model] == ["m", "n", None]
    by_time = pass_rates(db, PassRateFilter(keys=("bucket", "agent", "project")))
    assert [row.keys["bucket"] for row in by_time] == [
        START_NS + HOUR_NS - START_NS % HOUR_NS,
        START_NS - START_NS % HOUR_NS,
    ]
    assert [row.keys["agent"] for row in by_time] == ["planner", None]


@pytest.mark.parametrize(
    ("wanted", "judged"),
    [
        (PassRateFilter(rule="other"), 0),
        (PassRateFilter(evaluator="other"), 0),
        (PassRateFilter(service="a"), 1),
        (PassRateFilter(project="q"), 1),
        (PassRateFilter(since_ns=START_NS + 1), 1),
        (PassRateFilter(until_ns=START_NS + 1), 1),
        (PassRateFilter(since_ns=START_NS, until_ns=START_NS + 2), 2),
    ],
)
def test_filters_choose_the_decisions(db: Database, wanted: PassRateFilter, judged: int) -> None:
    decide(
        db,
        Decided(number=1, service="a"),
        Decided(number=2, service="b", project="q", at_ns=START_NS + 1),
    )
    assert sum(row.judged for row in pass_rates(db, wanted)) == judged


@pytest.mark.parametrize("lately", [None, "check"])
def test_a_time_without_results_shows_evaluators_by_what_they_found_before(
    db: Database, lately: str | None
) -> None:
    later_ns = START_NS + HOUR_NS
    decide(db, Decided(number=1), Decided(number=2, evaluator="slow", version="s1"))
    if lately:
        decide(db, Decided(number=3, evaluator=lately, at_ns=later_ns))
        decide(db, Decided(number=4, evaluator="slow", found="", at_ns=later_ns))
    decide(db, Decided(number=5, outcome="sampled_out", evaluator="", at_ns=later_ns))
    rows = pass_rates(db, PassRateFilter(since_ns=later_ns))
    shown = {row.keys["evaluator"]: (row.fingerprint, row.judged) for row in rows}
    assert shown == {"check": ("v1", 1 if lately else 0), "slow": ("s1", 0)}
    assert [row.sampled_out for row in rows] == [1, 1]


def test_turns_of_a_session_that_was_drawn_as_a_whole_are_one_draw(db: Database) -> None:
    turns = [
        Decided(
            number=n, session_id=f"s{n // 5}", sampled_by="session", probability=0.5,
            verdict="pass" if n < 20 else "fail",
        )
        for n in range(40)
    ]  # fmt: skip
    decide(db, *turns)
    row = one(db)
    assert row.estimate is not None
    assert row.estimate.effective_n < 10
    assert (row.judged, row.passed) == (40, 20)


def test_sessions_of_one_id_in_two_projects_are_two_draws(db: Database) -> None:
    turns = [
        Decided(number=n, session_id="s", sampled_by="session", project=f"p{n // 5}")
        for n in range(10)
    ]
    decide(db, *turns)
    row = one(db)
    assert row.estimate is not None
    assert row.estimate.effective_n == pytest.approx(2)


def test_sessions_are_judged_as_one_target_with_the_service_of_their_first_trace(
    db: Database,
) -> None:
    as_session: dict[str, Any] = {"target": "session", "sampled_by": "session", "rule": "talks"}
    decide(
        db,
        Decided(number=1, session_id="a", **as_session, service="chat", models=("m", "n")),
        Decided(number=2, session_id="b", **as_session, verdict="fail", superseded=True),
    )
    row = one(db, PassRateFilter(keys=("service",)))
    assert (row.keys["rule"], row.keys["service"], row.judged) == ("talks", "chat", 1)
    assert len(pass_rates(db, PassRateFilter(keys=("model",)))) == 2
