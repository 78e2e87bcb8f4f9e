"""Evaluators in UiPath's form: alone, and as evaluators of ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from pydantic import ValidationError

from tests.helpers import invoices
from tests.helpers.agent_spans import agent, tool
from tests.helpers.invoices import Booked, BookedConfig, BookedEvaluator, Nothing, Paid, PaidConfig
from tracejury import Failure, Score, Skip
from tracejury.assemble import assemble
from tracejury.errors import DefinitionError
from tracejury.evaluator import checked_defaults, run_evaluator
from tracejury.testing import make_tool_call, make_trace
from tracejury.trace import Flags, SpanError
from tracejury_evaluators.adapters.uipath import (
    AgentExecution,
    BaseEvaluator,
    BaseEvaluatorConfig,
    EvaluationResult,
    NumericEvaluationResult,
    ToolCall,
    ToolOutput,
    extract_tool_calls,
    extract_tool_calls_names,
    extract_tool_calls_outputs,
    trace_to_str,
)
from tracejury_evaluators.adapters.uipath.recorded import StatusCode, recorded_execution
from tracejury_evaluators.registry import Registry, built_in_registry

BOOKING = make_tool_call("book", {"account": "4400", "centers": ["a", "b"]})
TRACE = make_trace(input='{"invoice": 7}', output='{"status": "paid"}', tool_calls=[BOOKING])


@pytest.fixture
def registry() -> Registry:
    registry = built_in_registry()
    for name in ("BookedEvaluator", "PaidEvaluator", "CalledOnly"):
        registry.register(getattr(invoices, name), origin="invoices.py")
    return registry


def span(name: str, arguments: str = "{}") -> ReadableSpan:
    return ReadableSpan(name=name, attributes={"tool.name": name, "input.value": arguments})


@pytest.mark.parametrize(
    "made",
    [
        BookedEvaluator(id="b", config={"threshold": 0.9, "toolName": "post"}),
        BookedEvaluator(id="b", config={"threshold": 0.9, "tool_name": "post"}),
        BookedEvaluator(id="b", config=BookedConfig(threshold=0.9, tool_name="post")),
        BookedEvaluator(id="b", evaluatorConfig=BookedConfig(threshold=0.9, tool_name="post")),
        BookedEvaluator.model_validate(
            {"id": "b", "evaluatorConfig": {"threshold": 0.9, "toolName": "post"}}
        ),
    ],
    ids=["camelCase", "snake_case", "model", "evaluatorConfig", "validated"],
)
def test_the_config_is_taken_in_every_form(made: BookedEvaluator) -> None:
    assert made.evaluator_config == BookedConfig(threshold=0.9, tool_name="post")
    assert (made.id, made.name, made.evaluator_type_id) == ("b", "Booked", "BookedEvaluator")


def test_a_config_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValidationError, match="threshold"):
        BookedEvaluator(id="b", config={"threshold": 2})


def test_evaluate_is_timed_and_gives_what_was_found() -> None:
    execution = AgentExecution(
        agent_input={"a": 1},
        agent_output={"b": 2},
        agent_trace=[span("book", '{"account": "4400", "centers": ["x"]}')],
    )
    evaluator = BookedEvaluator(id="b", config={})
    criteria = Booked(account="4400", centers=["x", "y"])
    result = asyncio.run(evaluator.evaluate(execution, criteria))
    assert result.score == pytest.approx(2 / 3)
    assert result.details == "2 right"
    assert result.evaluation_time is not None
    assert result.evaluation_time >= 0


def test_evaluate_answers_with_an_error_for_what_is_raised() -> None:
    paid = invoices.PaidEvaluator(id="p", config={})
    execution = AgentExecution(agent_input={}, agent_output="paid", agent_trace=[])
    result = asyncio.run(paid.evaluate(execution, Nothing()))
    assert (result.score, result.score_type.name) == (0.0, "ERROR")


def test_criteria_as_data_are_validated_and_may_come_from_the_config() -> None:
    default = {"account": "4400"}
    execution = AgentExecution(agent_trace=[span("book", '{"account": "4400"}')])
    with_default = BookedEvaluator(id="b", config={"defaultEvaluationCriteria": default})
    result = asyncio.run(with_default.validate_and_evaluate_criteria(execution, None))
    assert result.score == 1.0
    with pytest.raises(ValueError, match="no evaluation criteria are given"):
        asyncio.run(
            BookedEvaluator(id="b", config={}).validate_and_evaluate_criteria(execution, None)
        )


@pytest.mark.parametrize(
    ("criteria", "value", "verdict"),
    [
        ({"account": "4400"}, 1.0, "pass"),
        ({"account": "4400", "cost_centers": ["a", "z"]}, 2 / 3, "pass"),
        ({"account": "4400", "costCenters": "a,b"}, 1.0, "pass"),
        ({"account": "4400", "centers": "y,z"}, 1 / 3, "partial"),
        ({"account": "1"}, 0.0, "fail"),
    ],
)
def test_an_evaluator_judges_our_traces_by_its_id(
    registry: Registry, criteria: dict[str, Any], value: float, verdict: str
) -> None:
    outcome = run_evaluator(registry.build("BookedEvaluator"), TRACE, criteria)
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(value)
    assert outcome.verdict == verdict
    assert outcome.reason.endswith("right")


def test_defaults_of_the_config_hold_for_fields_that_the_case_leaves_out(
    registry: Registry,
) -> None:
    config = {"defaultEvaluationCriteria": {"account": "4400", "centers": ["z"]}}
    evaluator = registry.build("BookedEvaluator", config)
    outcomes = [run_evaluator(evaluator, TRACE, given) for given in ({}, {"centers": ["a"]})]
    assert [getattr(outcome, "value", None) for outcome in outcomes] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ({"account": 4400}, "criteria.account: Input should be a valid string"),
        ({"acount": "4400"}, "criteria.acount: unknown field; did you mean 'account'"),
        ({"centers": ["a"]}, "criteria.account: this field is required"),
        ({"centers": 3, "account": "x"}, "criteria.cost_centers: Input should be a valid list"),
        ({"centers": [], "costCenters": []}, "are the same field"),
    ],
)
def test_criteria_that_do_not_fit_are_a_failure(
    registry: Registry, criteria: dict[str, Any], message: str
) -> None:
    outcome = run_evaluator(registry.build("BookedEvaluator"), TRACE, criteria)
    assert isinstance(outcome, Failure)
    assert outcome.error_type == "CriteriaError"
    assert message in outcome.message


def test_without_the_criteria_that_it_needs_there_is_no_judgement(registry: Registry) -> None:
    outcome = run_evaluator(registry.build("BookedEvaluator"), TRACE)
    assert outcome == Skip("no criteria are given, and the config has no default")


def test_default_criteria_of_a_named_evaluator_are_checked_when_it_is_named(
    registry: Registry,
) -> None:
    criteria = registry.build("BookedEvaluator").criteria_type()
    assert checked_defaults(criteria, {"centers": "a,b"}) == {"cost_centers": "a,b"}
    with pytest.raises(DefinitionError, match=r"criteria\.cost_centers: .*list"):
        checked_defaults(criteria, {"centers": 3})


@pytest.mark.parametrize(
    ("type_name", "config", "message"),
    [
        ("BookedEvaluator", {"threshold": 2}, r"config\.threshold: .*less than or equal to 1"),
        ("BookedEvaluator", {"treshold": 1}, r"config\.treshold: unknown field; did you mean"),
        ("paid-evaluator", {"version": "new"}, r"config\.version: .*integer"),
    ],
)
def test_a_config_of_ours_that_does_not_fit_is_refused(
    registry: Registry, type_name: str, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        registry.build(type_name, config)


def test_fields_with_names_that_ours_has_itself_are_taken(registry: Registry) -> None:
    evaluator = registry.build("paid-evaluator", {"version": 4, "key": "state"})
    made = evaluator.uipath  # type: ignore[attr-defined]
    assert made.evaluator_config == PaidConfig(version=4, key="state")
    assert evaluator.fingerprint() != registry.build("paid-evaluator").fingerprint()


def test_the_schemas_are_those_of_the_authors_models(registry: Registry) -> None:
    row = next(row for row in registry.types() if row.type == "BookedEvaluator")
    assert list(row.config_schema["properties"])[-2:] == ["threshold", "tool_name"]
    assert row.criteria_schema["required"] == ["account"]
    assert row.description == "Compares what was booked with what should be."


@pytest.mark.parametrize(
    ("output", "verdict", "actual"),
    [('{"status": "paid"}', "pass", "paid"), ('{"status": "open"}', "fail", "open")],
)
def test_a_structured_justification_is_kept_as_data(
    registry: Registry, output: str, verdict: str, actual: str
) -> None:
    outcome = run_evaluator(registry.build("paid-evaluator"), make_trace(output=output))
    assert isinstance(outcome, Score)
    assert (outcome.verdict, outcome.reason) == (verdict, f"expected paid, got {actual}")
    assert outcome.details == Paid(expected="paid", actual=actual).model_dump()


def test_an_evaluator_without_justification_only_scores(registry: Registry) -> None:
    assert run_evaluator(registry.build("called-only"), TRACE) == Score(
        1.0, "pass", "the evaluator gave 1"
    )
    assert run_evaluator(registry.build("called-only"), make_trace()) == Score(
        0.0, "fail", "the evaluator gave 0"
    )


def test_an_error_result_is_a_failure(registry: Registry) -> None:
    outcome = run_evaluator(registry.build("BookedEvaluator"), make_trace(), {"account": "1"})
    assert outcome == Failure("EvaluationError", "nothing was booked")


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (NumericEvaluationResult(score=1.5), "ValueError"),
        (NumericEvaluationResult(score=float("nan")), "ValueError"),
        (None, "TypeError"),
        (0.25, 0.25),
        (NumericEvaluationResult(score=0.25, details="{not json"), 0.25),
        (NumericEvaluationResult(score=0.25, details='{"reason": "half a half"}'), 0.25),
    ],
)
def test_what_an_evaluator_returns_is_made_an_outcome(returned: Any, expected: Any) -> None:
    class Returns(invoices.CalledOnly):
        async def evaluate(
            self, agent_execution: AgentExecution, evaluation_criteria: Nothing
        ) -> EvaluationResult:
            result: EvaluationResult = returned
            return result

    outcome = run_evaluator(Returns.__tracejury_evaluator__()(), TRACE)
    found = outcome.value if isinstance(outcome, Score) else outcome.error_type  # type: ignore[union-attr]
    assert found == expected


@pytest.mark.parametrize("error", [KeyError("account"), SystemExit(2)])
def test_an_evaluator_that_raises_is_a_failure_with_its_traceback(error: BaseException) -> None:
    class Raises(invoices.CalledOnly):
        async def evaluate(
            self, agent_execution: AgentExecution, evaluation_criteria: Nothing
        ) -> EvaluationResult:
            raise error

    outcome = run_evaluator(Raises.__tracejury_evaluator__()(), TRACE)
    assert isinstance(outcome, Failure)
    assert (outcome.error_type, "raise error" in outcome.traceback) == (type(error).__name__, True)


@pytest.mark.parametrize(
    ("type_name", "reason"),
    [("paid-evaluator", "the output was not captured"), ("called-only", "cannot be seen")],
)
def test_reading_what_was_not_recorded_is_a_skip(
    registry: Registry, type_name: str, reason: str
) -> None:
    trace = make_trace(output="", flags=Flags(not_captured=True))
    outcome = run_evaluator(registry.build(type_name), trace)
    assert isinstance(outcome, Skip)
    assert reason in outcome.reason


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("[1, 2]", {"output": [1, 2]}),
        ("18 degrees", {"output": "18 degrees"}),
        ("42", {"output": "42"}),
        ('{"a": ', {"output": '{"a": '}),
        ("[" * 100_000, {"output": "[" * 100_000}),
    ],
)
def test_an_output_is_the_object_that_it_is_or_stands_under_a_name(text: str, data: Any) -> None:
    execution = recorded_execution(make_trace(output=text, input=text))
    assert execution.agent_output == execution.workload_output == data
    assert execution.agent_input == {"input" if k == "output" else k: v for k, v in data.items()}


def test_recorded_spans_look_like_those_of_the_sdk() -> None:
    trace = assemble(
        [
            agent("00000000000000aa"),
            tool(
                "00000000000000bb",
                "00000000000000aa",
                tool_name="book",
                at=1,
                status="error",
                message="locked",
                gen_ai__tool__call__arguments='{"account": "1"}',
                gen_ai__tool__call__result="done",
            ),
        ]
    )
    root, called = recorded_execution(trace).agent_trace
    assert called.attributes["tool.name"] == "book"
    assert called.attributes["input.value"] == '{"account":"1"}'
    assert called.attributes["output.value"] == "done"
    assert called.parent == root.get_span_context()
    assert (called.context.span_id, called.status.status_code) == (0xBB, StatusCode.ERROR)
    assert (called.status.description, root.status.description) == ("locked", None)
    assert called.end_time - called.start_time == 1_000_000_000


def test_the_helpers_see_calls_that_only_messages_tell_of() -> None:
    asked = make_tool_call("book", {"account": "1"}, source="message", span_id="", output=None)
    spans = recorded_execution(make_trace(tool_calls=[asked])).agent_trace
    assert extract_tool_calls(spans) == [ToolCall(name="book", args={"account": "1"})]
    assert extract_tool_calls_names(list(spans)) == []


def test_the_helpers_take_any_spans() -> None:
    spans = [span("book", '{"account": "1"}'), span("pay", "12")]
    for source in (spans, tuple(spans), assemble([agent(), tool("t", tool_name="book")])):
        assert extract_tool_calls_names(source)[0] == "book"
    assert [call.args for call in extract_tool_calls(spans)] == [{"account": "1"}, {}]
    assert [call.args for call in extract_tool_calls(spans, include_args=False)] == [{}, {}]
    assert 'book({"account":"1"})' in trace_to_str(spans)
    assert extract_tool_calls([]) == []


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"content": "done", "id": 1}, "done"),
        ({"content": [1]}, "[1]"),
        ({"other": 1}, '{"other": 1}'),
        ("plain", "plain"),
        (None, ""),
    ],
)
def test_an_output_is_its_content_where_it_has_one(output: Any, text: str) -> None:
    trace = make_trace(tool_calls=[make_tool_call("book", output=output, id="c1")])
    assert extract_tool_calls_outputs(trace) == [ToolOutput(name="book", output=text, id="c1")]


def test_a_failed_call_says_nothing() -> None:
    trace = make_trace(tool_calls=[make_tool_call("book", error=SpanError(message="locked"))])
    assert extract_tool_calls_outputs(trace) == [ToolOutput(name="book")]


def test_a_class_that_names_no_types_is_refused() -> None:
    class Bare(BaseEvaluator):  # type: ignore[type-arg]
        async def evaluate(self, agent_execution: Any, evaluation_criteria: Any) -> Any: ...

        @classmethod
        def get_evaluator_id(cls) -> str:
            return "bare"

    with pytest.raises(DefinitionError, match=r"no criteria type; write `class Bare\(BaseEvalu"):
        built_in_registry().register(Bare, origin="file.py")
    with pytest.raises(DefinitionError, match="no criteria type"):
        Bare(id="x", config={})


def test_a_config_for_other_criteria_is_refused() -> None:
    class Mixed(BaseEvaluator[Nothing, BookedConfig, str]):
        async def evaluate(self, agent_execution: Any, evaluation_criteria: Any) -> Any: ...

        @classmethod
        def get_evaluator_id(cls) -> str:
            return "mixed"

    message = "config BookedConfig expects criteria type Booked, the evaluator Nothing; write"
    with pytest.raises(DefinitionError, match=message):
        built_in_registry().register(Mixed, origin="file.py")
    with pytest.raises(DefinitionError, match=message):
        Mixed(id="x", config={})


def test_a_justification_of_another_kind_is_refused() -> None:
    class Odd(BaseEvaluator[Nothing, BaseEvaluatorConfig[Nothing], int]):  # type: ignore[type-var]
        async def evaluate(self, agent_execution: Any, evaluation_criteria: Any) -> Any: ...

        @classmethod
        def get_evaluator_id(cls) -> str:
            return "odd"

    with pytest.raises(DefinitionError, match="int is no justification type; use str"):
        built_in_registry().register(Odd, origin="file.py")


@pytest.mark.parametrize("found", ["", "two words", 7, None])
def test_an_id_that_is_none_is_refused(found: Any) -> None:
    class Unnamed(invoices.CalledOnly):
        @classmethod
        def get_evaluator_id(cls) -> str:
            name: str = found
            return name

    with pytest.raises(DefinitionError, match=r"error getting evaluator ID: .* is no id"):
        built_in_registry().register(Unnamed, origin="file.py")


def test_an_id_that_cannot_be_had_is_refused() -> None:
    class Broken(invoices.CalledOnly):
        @classmethod
        def get_evaluator_id(cls) -> str:
            raise OSError("no network")

    with pytest.raises(DefinitionError, match="error getting evaluator ID: OSError: no network"):
        built_in_registry().register(Broken, origin="file.py")


def test_two_evaluators_of_one_id_are_refused(registry: Registry) -> None:
    class Twin(BookedEvaluator):
        pass

    with pytest.raises(
        DefinitionError, match=r"'BookedEvaluator' of twin\.py is already registered"
    ):
        registry.register(Twin, origin="twin.py")
