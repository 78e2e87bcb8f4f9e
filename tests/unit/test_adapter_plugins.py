"""Files of evaluators written for other systems are plugins like any others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracejury import Score, Skip
from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.testing import make_trace
from tracejury_evaluators.plugins import full_registry

AGENTPROBE = '''
from __future__ import annotations

from tracejury_evaluators.adapters.agentprobe import (
    BaseEvaluator, EvalResult, EvaluatorPlugin, EvalVerdict, TestCase, Trace,
)


class ShortAnswer(BaseEvaluator):
    """Passes if the answer is short."""

    def __init__(self, most: int = 20, name: str = "short") -> None:
        super().__init__(name=name)
        self.most = most

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        short = len(trace.output_text) <= self.most
        verdict = EvalVerdict.PASS if short else EvalVerdict.FAIL
        return EvalResult(evaluator_name=self.name, verdict=verdict, score=float(short))


class ShortPlugin(EvaluatorPlugin):
    @property
    def name(self) -> str:
        return "short"

    def create_evaluator(self) -> ShortAnswer:
        return ShortAnswer(3)
'''
UIPATH = """
from __future__ import annotations

from tracejury_evaluators.adapters.uipath import *


class Word(BaseEvaluationCriteria):
    word: str


class WordConfig(BaseEvaluatorConfig[Word]):
    case_sensitive: bool = False


class HasWord(BaseEvaluator[Word, WordConfig, str]):
    async def evaluate(self, agent_execution, evaluation_criteria: Word) -> EvaluationResult:
        text = str(agent_execution.agent_output["output"])
        text = text if self.evaluator_config.case_sensitive else text.lower()
        return BooleanEvaluationResult(score=evaluation_criteria.word in text)

    @classmethod
    def get_evaluator_id(cls) -> str:
        return "HasWord"
"""
TRACE = make_trace(output="Yes, Paris.")


def test_a_file_of_agentprobe_evaluators_is_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text(AGENTPROBE)
    registry = full_registry(tmp_path, ["./short.py"])
    types = [row.type for row in registry.types() if not row.builtin]
    assert types == ["short-answer", "short-plugin"]
    for type_name, verdict in (("short-answer", "pass"), ("short-plugin", "fail")):
        outcome = run_evaluator(registry.build(type_name), TRACE)
        assert isinstance(outcome, Score)
        assert outcome.verdict == verdict


def test_a_file_of_uipath_evaluators_is_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(UIPATH)
    evaluator = full_registry(tmp_path, ["./words.py"]).build("HasWord")
    assert run_evaluator(evaluator, TRACE, {"word": "paris"}) == Score(
        1.0, "pass", "the evaluator gave 1"
    )
    assert isinstance(run_evaluator(evaluator, TRACE), Skip)


def test_a_type_may_name_a_class_of_another_system_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(UIPATH)
    registry = full_registry(tmp_path)
    evaluator = registry.build("file://words.py:HasWord", {"caseSensitive": True})
    assert run_evaluator(evaluator, TRACE, {"word": "paris"}) == Score(
        0.0, "fail", "the evaluator gave 0"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            AGENTPROBE.split("    async def _evaluate")[0],
            "the class ShortAnswer does not define _evaluate; add it",
        ),
        (
            UIPATH.split("    @classmethod")[0],
            "the class HasWord does not define get_evaluator_id; add it",
        ),
        (UIPATH.replace('"HasWord"', '"has word"'), "'has word' is no id"),
    ],
)
def test_a_class_of_another_system_that_cannot_be_used_is_named(
    source: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "wrong.py").write_text(source)
    with pytest.raises(DefinitionError) as error:
        full_registry(tmp_path, ["./wrong.py"])
    assert message in str(error.value)
    assert "wrong.py" in str(error.value)
