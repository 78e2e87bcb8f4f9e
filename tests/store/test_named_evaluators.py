"""What a named evaluator brings beside its config: default criteria and a timeout."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.helpers.worker import bench, root
from tracejury import Criteria, Evaluator, Skip, Trace
from tracejury.evaluator import criteria_hash
from tracejury.result import Score
from tracejury_collector.config import parse_config
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.judging import Bench as JuryBench
from tracejury_collector.jury.judging import Members
from tracejury_collector.jury.progress import Progress
from tracejury_collector.jury.protocol import JobOrder, JudgeOrder, read_outcomes
from tracejury_collector.jury.roster import Seat, build_roster
from tracejury_evaluators.plugins import default_registry
from tracejury_evaluators.registry import Registry


class Expected(Criteria):
    city: str
    max_words: int = 10


class Sees(Evaluator[Expected]):
    """Passes if the answer names the city."""

    type: ClassVar[str] = "sees"
    timeout_s: ClassVar[float | None] = 7

    def evaluate(self, trace: Trace, criteria: Expected) -> Score | Skip:
        return Score(1, details={"city": criteria.city, "max_words": criteria.max_words})


def registry() -> Registry:
    found = default_registry()
    found.register(Sees, origin="tests")
    return found


def seat(**spec: Any) -> Seat:
    config = parse_config({"evaluators": {"mine": {"type": "sees", **spec}}})
    return build_roster(config, registry())["mine"]


def test_a_seat_holds_the_criteria_under_their_own_names() -> None:
    assert seat(criteria={"maxWords": 5}).criteria == {"max_words": 5}
    given = seat(criteria={"city": "Rome", "maxWords": "5"})
    assert given.criteria == {"city": "Rome", "max_words": 5}
    assert given.criteria_hash == criteria_hash({"max_words": 5, "city": "Rome"})
    assert given.fingerprint == seat().fingerprint
    assert seat().criteria_hash == ""


@pytest.mark.parametrize(
    ("type_name", "criteria", "message"),
    [
        ("sees", {"cty": 1}, "evaluators.mine: criteria.cty: unknown field; did you mean 'city'"),
        ("sees", {"max_words": "x"}, "evaluators.mine: criteria.max_words: Input should be"),
        ("sees", {"maxWords": 1, "max_words": 2}, "evaluators.mine: criteria.*the same field"),
        ("no-loops", {"a": 1}, "evaluators.mine: criteria.a: unknown field; it takes no fields"),
    ],
)
def test_criteria_that_do_not_fit_are_refused_at_start(
    type_name: str, criteria: dict[str, Any], message: str
) -> None:
    config = parse_config({"evaluators": {"mine": {"type": type_name, "criteria": criteria}}})
    with pytest.raises(ConfigError, match=message):
        build_roster(config, registry())


def test_the_timeout_is_that_of_the_name_else_of_the_type_else_of_the_jury() -> None:
    assert seat(timeout="2m").timeout_s == 120
    assert seat().timeout_s == 7
    config = parse_config({"jury": {"timeout": 3}})
    assert build_roster(config, registry())["no-loops"].timeout_s == 3


def test_the_same_evaluator_with_other_criteria_is_another_one(tmp_path: Path) -> None:
    names = ["rome", "oslo"]
    cities = {name: {"type": "sees", "criteria": {"city": name}} for name in names}
    settings = {"evaluators": cities, "rules": {"default": {"evaluators": names}}}
    with bench(tmp_path, settings, registry()) as store:
        store.spans(root(1))
        store.after(4)
        assert store.judge(Score(1.0, "pass")) == 2
        rows = store.rows("SELECT evaluator, criteria_hash FROM base.results ORDER BY ALL")
        assert rows == [(name, criteria_hash({"city": name})) for name in sorted(names)]


def test_evaluators_with_the_same_config_and_criteria_are_refused(tmp_path: Path) -> None:
    spec = {"type": "sees", "criteria": {"city": "Rome"}}
    rules = {"default": {"evaluators": ["a", "b"]}}
    settings = {"evaluators": {"a": spec, "b": spec}, "rules": rules}
    with (
        pytest.raises(ConfigError, match="the same evaluator with the same config and criteria"),
        bench(tmp_path, settings, registry()),
    ):
        pass


def test_jobs_that_waited_while_the_criteria_changed_are_judged_by_the_old_ones(
    tmp_path: Path,
) -> None:
    def settings(city: str) -> dict[str, Any]:
        named = {"mine": {"type": "sees", "criteria": {"city": city}}}
        return {"evaluators": named, "rules": {"default": {"evaluators": ["mine"]}}}

    with bench(tmp_path, settings("Rome"), registry()) as store:
        store.spans(root(1))
        store.after(4)
        store.config = parse_config(settings("Oslo"))
        store.restart()
        ((_, job, _),) = Intake(store.db, store.definitions.seat_of).read_all(10)
        assert job.pairs["mine"].seat.criteria == {"city": "Rome"}
        store.judge(Score(1.0, "pass"))
        rows = store.rows("SELECT outcome, criteria_hash FROM base.results")
        assert rows == [("score", criteria_hash({"city": "Rome"}))]


def test_a_jury_process_judges_by_the_default_criteria(tmp_path: Path) -> None:
    sent: list[bytes] = []
    sees = {"type": "sees", "config": {}, "fingerprint": seat().fingerprint, "timeout_s": 9.0}
    evaluators = {
        "rome": {**sees, "criteria": {"city": "Rome"}},
        "none": {**sees, "criteria": {}},
        "changed": {**sees, "criteria": {"city": "Rome"}, "fingerprint": "f00"},
    }
    jobs = [JobOrder(run=1, evaluators=tuple(evaluators), trace=b'{"trace_id":"1"}')]
    order = JudgeOrder(id=1, evaluators=evaluators, jobs=jobs)
    bench_ = JuryBench(Members(registry()), Progress.create(tmp_path / "progress"))
    bench_.judge(order, lambda item: sent.extend([item] if item else []), lambda: False)
    rome, none, changed = (item.outcome for item in read_outcomes(b"[" + b",".join(sent) + b"]"))
    assert rome["details"] == {"city": "Rome", "max_words": 10}
    assert none["message"] == "criteria.city: this field is required"
    assert changed["message"] == "sees was changed since the service was started; start it again"
