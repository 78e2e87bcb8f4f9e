"""The code of UiPath's document runs with only its imports changed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from tests.helpers.seeds import block, load, program, run_pytest, with_our_imports
from tracejury import Failure, Score
from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.testing import make_tool_call, make_trace
from tracejury_evaluators.adapters.uipath import (
    AgentExecution,
    BaseEvaluator,
    read_evaluators,
    write_registration,
)
from tracejury_evaluators.registry import built_in_registry

PARTS = (
    "1. Evaluation Criteria Class",
    "2. Evaluator Configuration Class",
    "3. Evaluator Implementation Class",
)
# What the document's fragments take for granted: types of their names, and a class to stand in.
AROUND = """
import json
from tracejury_evaluators.adapters.uipath import *
from tracejury_evaluators.adapters.uipath import AgentExecution, extract_tool_calls


class MyCriteria(BaseEvaluationCriteria):
    expected_data: list[str] = []


class MyConfig(BaseEvaluatorConfig[MyCriteria]):
    name: str = "Fragment"
    strict: bool = True
    threshold: float = 0.5
    case_sensitive: bool = False

"""
STANDING = """

class Fragment(BaseEvaluator[MyCriteria, MyConfig, str]):
    {lines}

    @classmethod
    def get_evaluator_id(cls) -> str:
        return "Fragment"
"""
CALLS = [
    ReadableSpan(
        name="call",
        attributes={"tool.name": name, "input.value": json.dumps(arguments)},
    )
    for name, arguments in (
        ("Other", {"x": 1}),
        ("SpecificTool", {"parameter_name": "north"}),
        ("TargetTool", {"target_parameter": "south"}),
    )
]


def fragment(place: str, folder: Path, *lines: str) -> Any:
    """A fragment's functions as methods of an evaluator, which is made."""
    standing = STANDING.format(lines="\n    ".join(lines))
    code = AROUND + with_our_imports(block("UiPath", place)) + standing
    return load(code, folder / "fragment.py").Fragment(id="f", config={})


def executed(**fields: Any) -> AgentExecution:
    return AgentExecution(**{"agent_input": {}, "agent_output": {}, "agent_trace": [], **fields})


@pytest.fixture
def complete(tmp_path: Path) -> ModuleType:
    return load(program("UiPath", "Complete Example"), tmp_path / "complete.py")


def test_the_complete_example_judges_spans_of_the_sdk(complete: ModuleType) -> None:
    data = {"FileName": "PatternData-7.csv", "InputData": "pattern\n a-b \n\nb-c\n"}
    span = ReadableSpan(
        name="run",
        attributes={
            "tool.name": "DataProcessingTool",
            "input.value": json.dumps(data),
            "openinference.span.kind": "TOOL",
        },
    )
    evaluator = complete.PatternComparisonEvaluator(id="patterns", config={})
    criteria = complete.PatternEvaluatorCriteria(expected_output=["a-b", "c-d"])
    result = asyncio.run(evaluator.evaluate(executed(agent_trace=[span]), criteria))
    assert result.score == pytest.approx(1 / 3)
    assert json.loads(result.details)["actual_patterns"] == ["a-b", "b-c"]
    assert result.evaluation_time >= 0


@pytest.mark.parametrize("name", ["expected_output", "expectedOutput"])
def test_the_complete_example_judges_our_traces(complete: ModuleType, name: str) -> None:
    registry = built_in_registry()
    registry.register(complete.PatternComparisonEvaluator, origin="the document")
    data = {"FileName": "PatternData", "InputData": "pattern\na-b\nb-c"}
    trace = make_trace(tool_calls=["search", make_tool_call("DataProcessingTool", data)])
    evaluator = registry.build("PatternComparisonEvaluator")
    outcome = run_evaluator(evaluator, trace, {name: ["a-b", "b-c", "c-d"]})
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(2 / 3)
    assert outcome.verdict == "partial"
    assert outcome.details["matching_count"] == 2


def test_the_three_parts_make_an_evaluator(tmp_path: Path) -> None:
    module = load(program("UiPath", *PARTS), tmp_path / "my_custom_evaluator.py")
    registry = built_in_registry()
    registry.register(module.MyCustomEvaluator, origin="the document")
    evaluator = registry.build("MyCustomEvaluator", {"caseSensitive": True, "threshold": 0.5})
    outcome = run_evaluator(evaluator, make_trace(), {"expectedValues": ["a"]})
    assert isinstance(outcome, Score)
    assert (outcome.verdict, outcome.details["case_sensitive"]) == ("fail", True)


def test_the_documents_test_passes_in_pytest(tmp_path: Path) -> None:
    code = program("UiPath", *PARTS, "Testing Custom Evaluators")
    path = tmp_path / "test_custom.py"
    path.write_text(code, encoding="utf-8")
    assert run_pytest(path) == ["PASSED"]


def test_the_criteria_of_the_evaluation_set_are_taken(tmp_path: Path) -> None:
    module = load(program("UiPath", *PARTS), tmp_path / "my_custom_evaluator.py")
    (item,) = json.loads(block("UiPath", "Step 4: Use in Evaluation Sets"))["evaluationItems"]
    (evaluation,) = item["evaluations"]
    made: BaseEvaluator[Any, Any, Any] = module.MyCustomEvaluator(id="x", config={})
    criteria = made.validate_evaluation_criteria(evaluation["evaluationCriteria"])
    assert criteria.expected_values == ["value1", "value2"]
    assert made.get_evaluator_id() == evaluation["evaluatorId"]
    assert executed(agent_input=item["agentInput"]).agent_input == {"query": "Process data"}


def test_tool_calls_are_extracted_as_the_document_shows(tmp_path: Path) -> None:
    made = fragment(
        "Extracting Tool Calls",
        tmp_path,
        "process = _process_tool_calls",
        "async def evaluate(self, agent_execution, evaluation_criteria): ...",
    )
    assert made.process(executed(agent_trace=CALLS)) == ["north"]


def test_the_four_helper_functions_are_there(tmp_path: Path) -> None:
    module = load(program("UiPath", "Available Helper Functions"), tmp_path / "helpers.py")
    assert [call.name for call in module.extract_tool_calls(CALLS)] == [
        "Other",
        "SpecificTool",
        "TargetTool",
    ]
    assert module.extract_tool_calls_names(CALLS)[0] == "Other"
    assert [found.output for found in module.extract_tool_calls_outputs(CALLS)] == ["", "", ""]
    assert 'SpecificTool({"parameter_name":"north"})' in module.trace_to_str(CALLS)


def test_annotated_helpers_are_defined_as_the_document_shows(tmp_path: Path) -> None:
    code = AROUND + program("UiPath", "1. Type Annotations and Documentation")
    assert load(code, tmp_path / "annotated.py")._extract_data.__annotations__["return"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "_compute_score = lambda self, agent_execution: 0.75",
            Score(0.75, "pass", "the evaluator gave 0.75"),
        ),
        ("_compute_score = None", Failure("EvaluationError", "Evaluation failed: ")),
    ],
)
def test_errors_are_handled_as_the_document_shows(
    line: str, expected: Score | Failure, tmp_path: Path
) -> None:
    made = fragment("2. Error Handling", tmp_path, "evaluate = evaluate", line)
    outcome = run_evaluator(type(made).__tracejury_evaluator__()(), make_trace())
    if isinstance(expected, Score):
        assert outcome == expected
    else:
        assert isinstance(outcome, Failure)
        assert outcome.message.startswith(expected.message)


def test_a_reusable_method_reads_a_tools_argument(tmp_path: Path) -> None:
    made = fragment(
        "3. Reusable Helper Methods",
        tmp_path,
        "read = _extract_from_tool",
        "async def evaluate(self, agent_execution, evaluation_criteria): ...",
    )
    execution = executed(agent_trace=CALLS)
    assert made.read(execution, "SpecificTool", "parameter_name") == "north"
    assert made.read(execution, "Nothing", "parameter_name") == ""


def test_a_method_reads_the_config_while_it_scores(tmp_path: Path) -> None:
    made = fragment(
        "4. Clear Scoring Logic",
        tmp_path,
        "score = _compute_score",
        "async def evaluate(self, agent_execution, evaluation_criteria): ...",
    )
    scores = [made.score(*args) for args in ((["A"], ["a", "b"]), ([], []), (["a"], []))]
    assert scores == [0.5, 1.0, 0.0]


def test_detailed_results_are_data(tmp_path: Path) -> None:
    body = block("UiPath", "5. Detailed Results")
    given = "score, expected_values, actual_values = 0.5, ['a'], ['b']\n"
    given += "matching_items, missing_items, extra_items = [], ['a'], ['b']\n"
    lines = "\n".join(f"    {line}" for line in (given + body).splitlines())
    code = AROUND + f"async def evaluate(self, agent_execution, evaluation_criteria):\n{lines}\n"
    standing = STANDING.format(lines="evaluate = evaluate")
    made = load(code + standing, tmp_path / "detailed.py").Fragment
    outcome = run_evaluator(made.__tracejury_evaluator__()(), make_trace())
    assert isinstance(outcome, Score)
    assert (outcome.value, outcome.verdict) == (0.5, "pass")
    assert outcome.details["missing"] == ["a"]


def test_the_three_type_parameters_may_stay_open(tmp_path: Path) -> None:
    open_types = """
from typing import TypeVar
T = TypeVar("T", bound=BaseEvaluationCriteria)
C = TypeVar("C", bound=BaseEvaluatorConfig)
J = TypeVar("J")

"""
    closed = "\n\nclass Closed(MyEvaluator[MyCriteria, MyConfig, str]): pass\n"
    code = AROUND + open_types + program("UiPath", "Generic Type Parameters") + closed
    made = load(code, tmp_path / "generic.py").Closed
    assert made.get_config_schema()["title"] == "MyConfig"


def test_pattern_one_reads_one_tools_argument(tmp_path: Path) -> None:
    made = fragment(
        "Pattern 1: Extracting Data from Specific Tools",
        tmp_path,
        "read = _extract_from_specific_tool",
        "async def evaluate(self, agent_execution, evaluation_criteria): ...",
    )
    assert made.read(executed(agent_trace=CALLS)) == "south"


def test_pattern_two_compares_sets(tmp_path: Path) -> None:
    made = fragment(
        "Pattern 2: Computing Set-Based Similarity",
        tmp_path,
        "score = _compute_set_similarity",
        "async def evaluate(self, agent_execution, evaluation_criteria): ...",
    )
    assert [made.score(["a", "c"], ["a", "b"]), made.score([], [])] == [0.5, 1.0]


@pytest.mark.parametrize(("valid", "verdict"), [("True", "pass"), ("False", "fail")])
def test_pattern_three_judges_in_steps(valid: str, verdict: str, tmp_path: Path) -> None:
    made = fragment(
        "Pattern 3: Multi-Step Validation",
        tmp_path,
        "evaluate = evaluate",
        f"_validate_structure = lambda self, execution, strict: {valid} and strict",
        "_extract_data = lambda self, execution: ['a']",
        "_compare_data = lambda self, data, expected: float(data == expected)",
    )
    evaluator = type(made).__tracejury_evaluator__()()
    outcome = run_evaluator(evaluator, make_trace(), {"expectedData": ["a"]})
    assert isinstance(outcome, Score)
    assert outcome.verdict == verdict


def test_a_class_without_the_base_is_told_to_inherit(tmp_path: Path) -> None:
    shown = block("UiPath", "Class Not Inheriting from BaseEvaluator")
    wrong = "class MyEvaluator:" + shown.split("class MyEvaluator:")[1]
    made = load(wrong, tmp_path / "wrong.py").MyEvaluator
    with pytest.raises(DefinitionError, match="is no evaluator; name a subclass of Evaluator"):
        built_in_registry().register(made, origin="wrong.py")


def test_a_missing_id_is_told_with_its_remedy(tmp_path: Path) -> None:
    shown = block("UiPath", "Missing get_evaluator_id Method")
    method = "    " + shown.replace("\n", "\n    ")
    without = STANDING.split("@classmethod")[0].format(lines="async def evaluate(*_): ...")
    module = load(AROUND + without, tmp_path / "without.py")
    with pytest.raises(DefinitionError, match="error getting evaluator ID: it has no get_evalu"):
        built_in_registry().register(module.Fragment, origin="without.py")
    module = load(AROUND + without.rstrip() + "\n\n" + method, tmp_path / "with_id.py")
    assert module.Fragment.__tracejury_evaluator__().type == "MyUniqueEvaluatorId"


def test_types_that_disagree_are_told_with_their_remedy(tmp_path: Path) -> None:
    shown = block("UiPath", "Type Inconsistency")
    right, wrong = shown.split("# ✗")
    other = "\nclass OtherCriteria(BaseEvaluationCriteria): pass\n"
    code = AROUND + right + other + "Right = MyEvaluator\n# ✗" + wrong
    module = load(code, tmp_path / "types.py")
    message = "type inconsistency in evaluator: config MyConfig expects criteria type MyCriteria"
    with pytest.raises(DefinitionError, match=message):
        built_in_registry().register(module.MyEvaluator, origin="types.py")
    with pytest.raises(DefinitionError, match="has no evaluate method"):
        built_in_registry().register(module.Right, origin="types.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the document's evaluator where it has to be."""
    custom = tmp_path / "evals" / "evaluators" / "custom"
    custom.mkdir(parents=True)
    (custom / "my_custom_evaluator.py").write_text(program("UiPath", *PARTS), encoding="utf-8")
    return tmp_path


def test_the_file_that_is_generated_is_that_of_the_document(project: Path) -> None:
    file = project / "evals" / "evaluators" / "custom" / "my_custom_evaluator.py"
    written = write_registration(file)
    shown = json.loads(block("UiPath", "Step 3: Register the Evaluator (2)"))
    made = json.loads(written[1].read_text())
    assert made.pop("description").startswith(shown.pop("description").removesuffix("..."))
    assert made == shown
    types = file.parent / shown["evaluatorTypeId"].removeprefix("file://")
    assert json.loads(types.read_text())["evaluatorTypeId"] == "MyCustomEvaluator"


def test_the_folders_are_those_of_the_document(project: Path) -> None:
    folder = project / "evals" / "evaluators"
    other = (
        (folder / "custom" / "my_custom_evaluator.py").read_text().replace("MyCustom", "Another")
    )
    (folder / "custom" / "another_evaluator.py").write_text(other)
    for file in sorted((folder / "custom").glob("*.py")):
        write_registration(file)
    assert sorted(read_evaluators(project)) == ["AnotherEvaluator", "MyCustomEvaluator"]
    made = {str(path.relative_to(folder)) for path in folder.rglob("*.json")}
    assert made >= {"another-evaluator.json", "custom/types/another-evaluator-types.json"}
    shown = block("UiPath", "Project Structure")
    assert all(Path(path).name in shown for path in made if "another" in path)


def test_a_file_elsewhere_is_told_where_it_belongs(project: Path) -> None:
    assert "evals/evaluators/custom/my_evaluator.py" in block("UiPath", "Evaluator Not Found")
    with pytest.raises(DefinitionError, match=r"could not find 'my_evaluator\.py' in evals/eval"):
        write_registration("my_evaluator.py")
