"""The code of AgentV's document runs unchanged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.test_process import project
from tests.helpers.judges import judging_by, serve_judge
from tests.helpers.seeds import block
from tracejury import Score
from tracejury.evaluator import run_evaluator
from tracejury.testing import make_llm_call, make_tool_call, make_trace
from tracejury_evaluators.payload import PayloadCriteria, payload_of
from tracejury_evaluators.process.script import Process
from tracejury_evaluators.registry import built_in_registry

PYTHON = "Python Code Evaluator Template"
TYPESCRIPT = "TypeScript Code Evaluator Template (with SDK)"
TRACE = make_trace(
    output="async it is, test output here",
    tool_calls=[make_tool_call("search", {"q": 1}, id="call_1")],
    llm_calls=[make_llm_call()],
)


def python_script(folder: Path) -> str:
    (folder / "my_validator.py").write_text(block("AgentV", PYTHON), encoding="utf-8")
    return f"{sys.executable} my_validator.py"


def typed(place: str) -> dict[str, Any]:
    """The input that the document pipes into a script by hand."""
    found = re.search(r"echo '(.*?)'", block("AgentV", place), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_payload_has_every_field_of_the_input_format() -> None:
    shown = json.loads(block("AgentV", "Input Format (via stdin)").replace("[...]", "[]"))
    sent = payload_of(TRACE, PayloadCriteria())
    assert shown.keys() <= sent.keys()
    assert shown["trace_summary"].keys() == sent["trace_summary"].keys()
    assert (
        shown["trace_summary"]["token_usage"].keys() == sent["trace_summary"]["token_usage"].keys()
    )
    (call,) = [c for m in sent["output_messages"] for c in m.get("tool_calls", ())]
    assert shown["output_messages"][0]["tool_calls"][0].keys() == call.keys()


def test_the_output_format_is_an_answer(tmp_path: Path) -> None:
    answer = block("AgentV", "Output Format (to stdout)")
    (tmp_path / "answer.json").write_text(answer, encoding="utf-8")
    outcome = run_evaluator(Process(script="cat answer.json", cwd=str(tmp_path)), TRACE)
    assert isinstance(outcome, Score), outcome
    assert (outcome.value, outcome.reason) == (0.85, "Brief explanation of the score")
    assert (len(outcome.hits), len(outcome.misses)) == (2, 1)


def test_the_python_template_judges_a_trace(tmp_path: Path) -> None:
    evaluator = Process(script=python_script(tmp_path), cwd=str(tmp_path))
    outcome = run_evaluator(evaluator, TRACE)
    assert isinstance(outcome, Score), outcome
    assert (outcome.value, outcome.misses) == (0.5, ("Missing required keyword: await",))


def test_the_python_template_takes_what_is_piped_by_hand(tmp_path: Path) -> None:
    run = subprocess.run(
        python_script(tmp_path).split(),
        input=json.dumps(typed("Command Line Testing")),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert json.loads(run.stdout)["score"] == 0.0


def test_the_typescript_template_judges_a_trace(tmp_path: Path) -> None:
    (project(tmp_path) / "check.ts").write_text(block("AgentV", TYPESCRIPT), encoding="utf-8")
    evaluator = Process(script="npx --yes tsx ./check.ts", cwd=str(tmp_path), timeout=60)
    criteria = {"expected_outcome": "async", "input_files": ["data/output.csv"]}
    outcome = run_evaluator(evaluator, TRACE, criteria)
    assert isinstance(outcome, Score), outcome
    assert (outcome.value, outcome.reason) == (0.5, "Passed 1/2 checks")
    assert outcome.misses == ("Missing attachment: output.csv",)


def test_the_typescript_template_takes_what_is_piped_by_hand(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "check.ts").write_text(block("AgentV", TYPESCRIPT), encoding="utf-8")
    given = {**typed("Command Line Testing (2)"), "input_files": [], "guideline_files": []}
    run = subprocess.run(
        ["npx", "--yes", "tsx", "./check.ts"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        timeout=60,
    )
    assert json.loads(run.stdout)["misses"] == ["Answer does not match expected outcome"]


@pytest.mark.parametrize("place", ["In Eval Files", "In Eval Files (2)"])
def test_the_entry_of_an_eval_file_is_the_config_of_a_process(place: str) -> None:
    (entry,) = yaml.safe_load(block("AgentV", place))["execution"]["evaluators"]
    config = {"script": entry["script"], "cwd": entry["cwd"]}
    evaluator = built_in_registry().build("process", config)
    assert evaluator.model_dump()["script"] == entry["script"]


def test_the_default_template_is_taken_as_an_own_one() -> None:
    template = block("AgentV", "LLM Judge Prompt Template")
    criteria = {"expected_outcome": "says so", "reference_answer": "It is async."}
    ruling = {
        "score": 1.0,
        "verdict": "pass",
        "reasoning": "it does",
        "hits": [],
        "misses": [],
    }
    with serve_judge([ruling]) as judge, judging_by(judge):
        evaluator = built_in_registry().build("llm-judge", {"template": template})
        outcome = run_evaluator(evaluator, TRACE, criteria)
    assert isinstance(outcome, Score), outcome
    (prompt,) = judge.prompts
    for part in ("[[ ## reference_answer ## ]]", "says so", "It is async.", TRACE.output_text):
        assert part in prompt
    assert "{{" not in prompt
