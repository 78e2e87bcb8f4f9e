"""UiPath's folder of evaluators: described as its own command describes them, and read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracejury import Score
from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.testing import make_tool_call, make_trace
from tracejury_evaluators.adapters.uipath import is_custom, read_evaluators, write_registration
from tracejury_evaluators.authoring.registering import register_file

SOURCE = '''
from __future__ import annotations

from pydantic import Field
from tracejury_evaluators.adapters.uipath import *


class Sent(BaseEvaluationCriteria):
    """What should be sent."""

    parcel_ids: list[str] = Field(default_factory=list)


class SentConfig(BaseEvaluatorConfig[Sent]):
    """How it is looked for."""

    name: str = "Parcels sent"
    threshold: float = 0.8
    tool_name: str = "send"


class ParcelsSent(BaseEvaluator[Sent, SentConfig, str]):
    """Which parcels were sent.

    The ids are those in the calls of the tool.
    """

    async def evaluate(self, agent_execution, evaluation_criteria: Sent) -> EvaluationResult:
        calls = extract_tool_calls(agent_execution.agent_trace)
        sent = {c.args.get("id") for c in calls if c.name == self.evaluator_config.tool_name}
        wanted = set(evaluation_criteria.parcel_ids)
        return NumericEvaluationResult(score=len(sent & wanted) / max(1, len(wanted)))

    @classmethod
    def get_evaluator_id(cls) -> str:
        return "ParcelsSent"
'''
Write = Callable[[str, str], Path]


@pytest.fixture
def custom(tmp_path: Path) -> Path:
    folder = tmp_path / "evals" / "evaluators" / "custom"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def registered(custom: Path) -> Path:
    (custom / "parcels_sent.py").write_text(SOURCE)
    write_registration(custom / "parcels_sent.py")
    return custom.parent / "parcels-sent.json"


def change(path: Path, **fields: Any) -> None:
    data = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({name: value for name, value in data.items() if value is not None}))


def test_a_file_is_described_by_two(custom: Path) -> None:
    (custom / "parcels_sent.py").write_text(SOURCE)
    types, evaluator = write_registration(custom / "parcels_sent.py")
    assert types == custom / "types" / "parcels-sent-types.json"
    assert evaluator == custom.parent / "parcels-sent.json"
    assert json.loads(evaluator.read_text()) == {
        "version": "1.0",
        "id": "ParcelsSent",
        "evaluatorTypeId": "file://types/parcels-sent-types.json",
        "evaluatorSchema": "file://parcels_sent.py:ParcelsSent",
        "description": "Which parcels were sent.\n\nThe ids are those in the calls of the tool.",
        "evaluatorConfig": {"name": "Parcels sent", "threshold": 0.8, "toolName": "send"},
    }
    described = json.loads(types.read_text())
    assert described["evaluatorTypeId"] == "ParcelsSent"
    assert list(described["evaluationCriteriaSchema"]["properties"]) == ["parcel_ids"]
    assert "tool_name" in described["evaluatorConfigSchema"]["properties"]
    assert described["justificationSchema"] == {"type": "string"}


def test_the_command_describes_a_file_of_that_folder_in_the_same_way(custom: Path) -> None:
    (custom / "parcels_sent.py").write_text(SOURCE)
    expected = {path: path.read_bytes() for path in write_registration(custom / "parcels_sent.py")}
    for path in expected:
        path.unlink()
    (done,) = register_file(custom / "parcels_sent.py")
    assert list(done.written) == list(expected)
    assert {path: path.read_bytes() for path in done.written} == expected


def test_a_bare_name_is_found_below_the_current_folder(
    custom: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (custom / "parcels_sent.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    assert len(write_registration("parcels_sent.py")) == len(write_registration("parcels_sent"))
    assert is_custom(Path("evals/evaluators/custom/parcels_sent.py"))
    assert not is_custom(Path("parcels_sent.py"))


def test_settings_that_were_changed_are_kept(registered: Path, custom: Path) -> None:
    change(registered, evaluatorConfig={"threshold": 0.3, "gone": 1})
    write_registration(custom / "parcels_sent.py")
    config = json.loads(registered.read_text())["evaluatorConfig"]
    assert config == {"name": "Parcels sent", "threshold": 0.3, "toolName": "send"}


def test_what_was_described_is_read_and_judges(registered: Path, tmp_path: Path) -> None:
    change(registered, evaluatorConfig={"threshold": 0.5, "tool_name": "ship"})
    evaluators = read_evaluators(tmp_path)
    trace = make_trace(tool_calls=[make_tool_call("ship", {"id": "a"})])
    outcome = run_evaluator(evaluators["ParcelsSent"], trace, {"parcelIds": ["a", "b"]})
    assert outcome == Score(0.5, "pass", "the evaluator gave 0.5")


def test_several_classes_of_a_file_have_files_of_their_own(custom: Path, tmp_path: Path) -> None:
    second = "class Again(ParcelsSent):\n    get_evaluator_id = classmethod(lambda cls: 'b')\n"
    (custom / "two.py").write_text(f"{SOURCE}\n\n{second}")
    assert len(write_registration(custom / "two.py")) == 4
    assert list(read_evaluators(tmp_path)) == ["b", "ParcelsSent"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"evaluatorConfig": {"treshold": 1}}, "evaluatorConfig.treshold: unknown field; did you"),
        ({"evaluatorConfig": {"threshold": "x"}}, "evaluatorConfig.threshold: Input should be"),
        ({"evaluatorTypeId": "uipath-exact-match"}, "name the built-in type 'equals' instead"),
        ({"evaluatorTypeId": "uipath-new"}, "is UiPath's own, and is not known here"),
        ({"evaluatorSchema": "file://../../../x.py:A"}, "names no file in evals/evaluators/custom"),
        ({"evaluatorSchema": "parcels_sent.py:A"}, "names no file in evals/evaluators/custom"),
        ({"evaluatorSchema": "file://other.py:A"}, "could not find 'other.py'"),
        (
            {"evaluatorSchema": "file://parcels_sent.py:Parcel"},
            "parcels_sent.py defines no evaluator 'Parcel'; it defines ParcelsSent",
        ),
        ({"id": None}, "id is no text; register the evaluator again"),
        ({"evaluatorConfig": [1]}, "Input should be"),
    ],
)
def test_a_file_that_names_something_wrong_is_told_with_the_remedy(
    registered: Path, tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    change(registered, **fields)
    with pytest.raises(DefinitionError) as error:
        read_evaluators(tmp_path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "it is no JSON"), ("[]", "no JSON object"), (" " * (1 << 20) + "{}", "over 1048576")],
)
def test_a_file_that_is_no_json_object_is_named(
    registered: Path, tmp_path: Path, text: str, message: str
) -> None:
    registered.write_text(text)
    with pytest.raises(DefinitionError, match=rf"parcels-sent\.json: .*{message}"):
        read_evaluators(tmp_path)


def test_two_files_of_one_id_are_refused(registered: Path, tmp_path: Path) -> None:
    (registered.parent / "again.json").write_text(registered.read_text())
    with pytest.raises(DefinitionError, match="the id 'ParcelsSent' is another file's"):
        read_evaluators(tmp_path)


def test_a_project_without_the_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="there is no folder"):
        read_evaluators(tmp_path)


def test_a_file_in_another_folder_is_told_where_to_go(tmp_path: Path) -> None:
    (tmp_path / "parcels_sent.py").write_text(SOURCE)
    with pytest.raises(DefinitionError, match="lies outside of evals/evaluators/custom; move it"):
        write_registration(tmp_path / "parcels_sent.py")
    with pytest.raises(DefinitionError, match=r"could not find 'gone\.py' in .*put the file in"):
        write_registration("gone.py")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class ParcelsSent:\n    def evaluate(self): ...\n", "does not inherit from"),
        ("raise OSError('no parcel')", "OSError: no parcel"),
        (
            SOURCE.replace("    @classmethod\n    def get_evaluator_id(cls) -> str:\n", "").replace(
                '        return "ParcelsSent"\n', ""
            ),
            "the class ParcelsSent does not define get_evaluator_id; add it",
        ),
        (
            SOURCE.replace("BaseEvaluator[Sent,", "BaseEvaluator[Other,").replace(
                "class Sent(", "class Other(BaseEvaluationCriteria): ...\n\n\nclass Sent("
            ),
            "type inconsistency in evaluator: config SentConfig expects criteria type Sent",
        ),
        (
            SOURCE.replace("threshold: float = 0.8", "threshold: float"),
            "config.threshold: this field is required; give every field of it a default",
        ),
    ],
)
def test_a_definition_that_cannot_work_is_one_sentence_and_writes_nothing(
    custom: Path, source: str, message: str
) -> None:
    (custom / "parcels_sent.py").write_text(source)
    with pytest.raises(DefinitionError) as error:
        write_registration(custom / "parcels_sent.py")
    assert message in str(error.value)
    assert [path.name for path in custom.parent.rglob("*.json")] == []
