"""Evaluators made of others: in a program, by name, together, and bounded."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from tests.helpers.cases import CASES, load_cases, trace_of
from tracejury import Criteria, Evaluator, Score, Skip, Trace, evaluator
from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.result import Failure, Spent
from tracejury.testing import make_trace
from tracejury_collector.config import parse_config
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.roster import build_roster
from tracejury_evaluators import budget, output, retrieval, structure, tools, trajectory
from tracejury_evaluators.budget import LatencyBudget
from tracejury_evaluators.composite import Composite
from tracejury_evaluators.composite.named import with_members
from tracejury_evaluators.output.presence import NonEmptyOutput
from tracejury_evaluators.registry import built_in_registry

REGISTRY = built_in_registry()
TRACE = make_trace(latency_ms=1500)
FAST = LatencyBudget(budget_ms=1000)


class Meeting(Evaluator):
    """Passes where as many evaluators as are expected wait at the same time."""

    type: ClassVar[str] = "meeting"
    timeout_s: ClassVar[float | None] = 20.0

    expected: int = 2

    async def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
        WAITING.append(self)
        for _ in range(1_000):
            if len(WAITING) >= self.expected:
                return True
            await asyncio.sleep(0)
        return False


WAITING: list[Meeting] = []


@evaluator("asks-a-model")
def asks_a_model(trace: Trace, *, usd: float | None = None, breaks: bool = False) -> Score:
    if breaks:
        raise RuntimeError("no answer")
    return Score(1.0, spent=Spent(usd=usd, input_tokens=100, output_tokens=10))


@evaluator("cannot-tell")
def cannot_tell(trace: Trace) -> Skip:
    return Skip("nothing to see", spent=Spent(usd=0.5, input_tokens=1, output_tokens=1))


def spec(kind: str, **config: Any) -> dict[str, Any]:
    return {"type": kind, "config": config}


def composite(*members: Any, **config: Any) -> dict[str, Any]:
    return spec("composite", members=list(members), **config)


def test_members_may_be_evaluators_pairs_and_specs() -> None:
    whole = Composite(members=[NonEmptyOutput(), (FAST, 2.0), {"type": "no-tool-errors"}])
    assert [member.weight for member in whole.parts] == [1.0, 2.0, 1.0]
    outcome = run_evaluator(whole, TRACE)
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(2 / 3)


def test_an_evaluator_given_in_a_program_is_the_one_that_runs() -> None:
    given = asks_a_model(usd=0.25)
    assert Composite(members=[given]).parts[0].built is given


def test_members_that_wait_run_together() -> None:
    WAITING.clear()
    inner = Composite(members=[Meeting(expected=3)], aggregation="all")
    whole = Composite(members=[Meeting(expected=3), NonEmptyOutput(), Meeting(expected=3), inner])
    outcome = run_evaluator(whole, TRACE)
    assert isinstance(outcome, Score)
    assert outcome.verdict == "pass", outcome


def test_an_async_member_that_breaks_is_named_and_stops_no_other() -> None:
    @evaluator("breaks-late")
    async def breaks_late(trace: Trace) -> bool:
        await asyncio.sleep(0)
        raise SystemExit("enough")

    whole = Composite(members=[breaks_late(), asks_a_model(usd=0.5)])
    outcome = run_evaluator(whole, TRACE)
    assert isinstance(outcome, Failure)
    assert (outcome.error_type, outcome.message) == (
        "SystemExit",
        "the member 'breaks-late' failed: enough",
    )
    assert outcome.spent == Spent(usd=0.5, input_tokens=100, output_tokens=10)
    lenient = Composite(members=[breaks_late(), asks_a_model()], on_failure="leave_out")
    outcome = run_evaluator(lenient, TRACE)
    assert isinstance(outcome, Score)
    assert outcome.details["members"][0]["error_type"] == "SystemExit"


def test_what_members_spent_is_added_up_and_unknown_where_one_is() -> None:
    known = Composite(members=[asks_a_model(usd=0.25), cannot_tell(), NonEmptyOutput()])
    assert run_evaluator(known, TRACE).spent == Spent(usd=0.75, input_tokens=101, output_tokens=11)
    unknown = Composite(members=[asks_a_model(usd=0.25), asks_a_model()])
    assert run_evaluator(unknown, TRACE).spent == Spent(input_tokens=200, output_tokens=20)
    assert run_evaluator(Composite(members=[FAST]), TRACE).spent is None


def test_the_longest_run_is_that_of_the_members_that_name_one() -> None:
    assert Composite(members=[Meeting(), FAST, Meeting()]).timeout_s == 40.0
    assert Composite(members=[FAST]).timeout_s is None


def test_the_fingerprint_covers_what_the_members_are() -> None:
    bases = [
        Composite(members=[FAST]),
        Composite(members=[LatencyBudget(budget_ms=1001)]),
        Composite(members=[(FAST, 2)]),
        Composite(members=[FAST, FAST]),
        Composite(members=[FAST], pass_threshold=0.9),
        Composite(members=[{**spec("latency-budget", budget_ms=1000), "name": "fast"}]),
        Composite(
            members=[{**spec("latency-budget", budget_ms=1000), "criteria": {"budget_ms": 5}}]
        ),
        Composite(members=[Composite(members=[FAST])]),
    ]
    assert len({whole.fingerprint() for whole in bases}) == len(bases)


def test_the_fingerprint_does_not_depend_on_how_members_were_written() -> None:
    written = REGISTRY.build("composite", {"evaluators": [spec("latency-budget", maxMs=1000)]})
    assert written.fingerprint() == Composite(members=[FAST]).fingerprint()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"members": []}, "config.members: List should have at least 1 item"),
        ({"members": ["fast"]}, "the member names 'fast'; give its `type` and `config` here"),
        ({"members": [{}]}, "the member names no evaluator"),
        ({"members": [spec("regexx")]}, "'regexx' is unknown; did you mean 'regex'?"),
        ({"members": [spec("latency-budget")]}, "config.budget_ms: this field is required"),
        ({"members": [spec("non-empty-output") | {"weight": -1}]}, "greater than or equal to 0"),
        ({"members": [spec("non-empty-output") | {"weight": 0}]}, "every member has weight 0"),
        (
            {"members": [spec("non-empty-output")], "partial_threshold": 0.9},
            "partial_threshold 0.9 is above pass_threshold 0.8; exchange the two",
        ),
        (
            {"members": [spec("non-empty-output") | {"name": "a"} for _ in range(2)]},
            "two members are named 'a'",
        ),
        ({"members": [spec("non-empty-output")] * 51}, "at most 50 items"),
        ({"members": "fast"}, "config.members: Input should be a valid list"),
        (
            {"members": [spec("tool-usage") | {"criteria": {"tools": []}}]},
            "criteria.tools: unknown field",
        ),
    ],
)
def test_members_that_do_not_fit_are_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        REGISTRY.build("composite", config)
    assert said in str(caught.value)


def test_a_weight_that_is_no_number_is_refused_in_a_program() -> None:
    with pytest.raises(ValidationError, match="finite"):
        Composite(members=[(FAST, float("inf"))])


def test_composites_nested_without_bounds_are_refused() -> None:
    whole = spec("non-empty-output")
    for _ in range(5_000):
        whole = composite(whole)
    with pytest.raises(DefinitionError, match="nested deeper than 8 levels"):
        REGISTRY.build("composite", whole["config"])


def test_details_of_many_nested_members_keep_the_outer_ones() -> None:
    inner = composite(*[spec("non-empty-output")] * 20)
    outcome = run_evaluator(REGISTRY.build("composite", {"members": [inner] * 20}), TRACE)
    assert isinstance(outcome, Score)
    assert [row["value"] for row in outcome.details["members"]] == [1.0] * 20
    assert "members" not in outcome.details["members"][0]


SPECS = {
    "fast": spec("latency-budget", budget_ms=1000) | {"criteria": {"budget_ms": 2000}},
    "answers": spec("non-empty-output"),
    "inner": composite("fast", {"evaluator": "answers", "weight": 3}),
    "outer": composite({"evaluator": "inner", "name": "quality"}, spec("no-tool-errors")),
}


def test_names_of_members_are_replaced_by_what_they_stand_for() -> None:
    whole = REGISTRY.build("composite", with_members("outer", SPECS))
    outcome = run_evaluator(whole, TRACE)
    assert isinstance(outcome, Score)
    quality, errors = outcome.details["members"]
    assert [member["name"] for member in quality["members"]] == ["fast", "answers"]
    assert (quality["name"], quality["verdict"], errors["type"]) == (
        "quality",
        "pass",
        "no-tool-errors",
    )


def test_a_member_may_override_the_default_criteria_of_what_it_names() -> None:
    specs = SPECS | {"one": composite({"evaluator": "fast", "criteria": {"budget_ms": 1500}})}
    (member,) = with_members("one", specs)["members"]
    assert member["criteria"] == {"budget_ms": 1500}


def test_configs_of_other_types_are_left_as_they_are() -> None:
    specs = {"a": spec("contains", members=["fast"])}
    assert with_members("a", specs) == {"members": ["fast"]}


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ({"a": composite("b")}, "no evaluator is named 'b'"),
        ({"a": composite("fats"), "fast": spec("x")}, "'fats'; did you mean 'fast'?"),
        ({"a": composite("a")}, "composites hold each other: a → a"),
        (
            {"a": composite("b"), "b": composite(composite("c")), "c": composite("a")},
            "composites hold each other: a → b → c → a",
        ),
        (
            {"a": composite({"evaluator": "b", "config": {}}), "b": spec("x")},
            "the member 'b' has a config of its own",
        ),
        (
            {"a": composite(*"b" * 30), "b": composite(*"c" * 30), "c": spec("x")},
            "holds more than 500 evaluators in all",
        ),
        (
            {"a": composite("a1")} | {f"a{n}": composite(f"a{n + 1}") for n in range(1, 20)},
            "nested deeper than 8 levels: a → a1",
        ),
    ],
)
def test_names_that_lead_nowhere_or_in_circles_are_refused(
    specs: dict[str, Any], said: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        with_members("a", specs)
    assert said in str(caught.value)


def test_a_configuration_resolves_names_before_the_fingerprint() -> None:
    def fingerprint(budget_ms: int) -> str:
        evaluators = SPECS | {"fast": spec("latency-budget", budget_ms=budget_ms)}
        roster = build_roster(parse_config({"evaluators": evaluators}), REGISTRY)
        rebuilt = REGISTRY.build("composite", roster["outer"].config)
        assert rebuilt.fingerprint() == roster["outer"].fingerprint
        return roster["outer"].fingerprint

    assert fingerprint(1000) == fingerprint(1000)
    assert fingerprint(1000) != fingerprint(1001)


def test_a_configuration_names_the_composite_that_is_wrong() -> None:
    config = parse_config({"evaluators": {"whole": composite("nobody")}})
    with pytest.raises(ConfigError, match=r"evaluators\.whole: no evaluator is named 'nobody'"):
        build_roster(config, REGISTRY)


FAMILIES = (budget, output, retrieval, structure, tools, trajectory)
DETERMINISTIC = [kind.type for family in FAMILIES for kind in family.EVALUATORS]


@pytest.mark.parametrize("type_name", DETERMINISTIC)
def test_every_type_that_needs_nothing_else_may_be_a_member(type_name: str) -> None:
    for case in load_cases(CASES / f"{type_name}.json"):
        alone = REGISTRY.build(type_name, case.config)
        member = {"type": type_name, "config": dict(case.config), "name": "it"}
        whole = REGISTRY.build("composite", {"members": [member], "aggregation": "all"})
        criteria = {"members": {"it": dict(case.criteria or {})}}
        ours = run_evaluator(whole, trace_of(case.trace), criteria)
        theirs = run_evaluator(alone, trace_of(case.trace), case.criteria)
        assert type(ours) is type(theirs)
        if isinstance(ours, Score) and isinstance(theirs, Score):
            assert (ours.value, ours.verdict) == (theirs.value, theirs.verdict)
