"""Eval files of AgentV become evaluators of ours; their scripts run unchanged."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.test_process import TYPESCRIPT, project
from tests.helpers.judges import judging_by, serve_judge
from tests.helpers.seeds import block
from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator, run_evaluator
from tracejury.result import Failure, Score
from tracejury.testing import make_tool_call, make_trace
from tracejury_collector.config import parse_config
from tracejury_evaluators.adapters.agentv import (
    DEFAULT_EVALUATOR_TEMPLATE,
    CodeJudge,
    LlmJudge,
    load_evaluators,
    parse_code_judge_payload,
    read_code_judge_payload,
)
from tracejury_evaluators.payload import payload_of
from tracejury_evaluators.process.script import Process
from tracejury_evaluators.registry import built_in_registry

REGISTRY = built_in_registry()
TRACE = make_trace(tool_calls=[make_tool_call("search")])
CHECK = """
import json, sys

def check(run):
    misses = [] if run["candidate_answer"].endswith(".") else ["ends without a full stop"]
    return {"score": float(not misses), "hits": [], "misses": misses, "reasoning": "checked"}

try:
    print(json.dumps(check(json.loads(sys.stdin.read()))))
except Exception as error:
    print(json.dumps({"score": 0.0, "misses": [f"broke: {error!r}"], "reasoning": "broke"}))
    sys.exit(1)
"""
RULING = {"score": 1.0, "verdict": "pass", "reasoning": "it does", "hits": [], "misses": []}


def eval_file(folder: Path, *evaluators: Mapping[str, object], **execution: object) -> Path:
    path = folder / "evals" / "weather.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        yaml.safe_dump({"execution": {"evaluators": [*map(dict, evaluators)], **execution}})
    )
    return path


def built(spec: Mapping[str, Any]) -> Evaluator[Any]:
    return REGISTRY.build(spec["type"], spec["config"])


def with_script(folder: Path) -> Path:
    """An eval file whose script lies in a folder beside it."""
    checks = folder / "evals" / "checks"
    checks.mkdir(parents=True)
    (checks / "full_stop.py").write_text(CHECK)
    script = f"{sys.executable} full_stop.py"
    entry = {"name": "full_stop", "type": "code_judge", "script": script, "cwd": "./checks"}
    return eval_file(folder, entry)


def test_a_code_judge_runs_in_its_folder_beside_the_eval_file(tmp_path: Path) -> None:
    found = load_evaluators(with_script(tmp_path))
    outcome = run_evaluator(built(found["full_stop"]), TRACE)
    assert isinstance(outcome, Score), outcome
    assert (outcome.verdict, outcome.reason) == ("pass", "checked")


def test_a_code_judge_that_breaks_keeps_what_it_printed(tmp_path: Path) -> None:
    found = load_evaluators(with_script(tmp_path))
    broken = {
        **found["full_stop"]["config"],
        "script": [sys.executable, "-c", CHECK.replace("run[", "run['x'][")],
    }
    outcome = run_evaluator(CodeJudge.model_validate(broken), TRACE)
    assert isinstance(outcome, Failure)
    assert """misses: "broke: KeyError('x')\"""" in outcome.message


def test_what_is_loaded_is_a_section_of_the_config(tmp_path: Path) -> None:
    found = load_evaluators(with_script(tmp_path))
    config = parse_config({"evaluators": found, "rules": {"all": {"evaluators": list(found)}}})
    assert config.evaluators["full_stop"].type == "process"


def test_the_section_is_printed_for_the_config(tmp_path: Path) -> None:
    path = with_script(tmp_path)
    command = [sys.executable, "-m", "tracejury_evaluators.adapters.agentv"]
    run = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True)
    assert yaml.safe_load(run.stdout) == {"evaluators": load_evaluators(path)}
    broken = subprocess.run(
        [*command, str(tmp_path / "no.yaml")], capture_output=True, text=True, check=False
    )
    assert broken.returncode == 2
    assert "no.yaml cannot be read" in broken.stderr


def test_a_judge_takes_its_template_its_prompt_or_that_of_all(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "own.md").write_text("Judge {{candidate_answer}}.")
    (tmp_path / "evals" / "hints.md").write_text("Mind the units.\nBe strict.")
    judge = {"type": "llm_judge"}
    path = eval_file(
        tmp_path,
        {"name": "file", "evaluatorTemplate": "own.md", **judge},
        {"name": "text", "evaluatorTemplate": "Is {{question}} answered?", **judge},
        {"name": "prompt", "prompt": "own.md", **judge},
        {"name": "hints", "prompt": "hints.md", **judge},
        {"name": "common", **judge},
        evaluatorTemplate="Common: {{candidate_answer}}",
    )
    configs = {name: spec["config"] for name, spec in load_evaluators(path).items()}
    common = "Common: {{candidate_answer}}"
    assert configs == {
        "file": {"template": "Judge {{candidate_answer}}."},
        "text": {"template": "Is {{question}} answered?"},
        "prompt": {"template": common, "guideline": "Judge {{candidate_answer}}."},
        "hints": {"template": common, "guideline": "Mind the units.\nBe strict."},
        "common": {"template": common},
    }


def test_a_judge_asks_by_its_template(tmp_path: Path) -> None:
    entry = {
        "name": "j",
        "type": "llm_judge",
        "prompt": "Was {{question}} met by {{candidate_answer}}?",
    }
    found = load_evaluators(eval_file(tmp_path, entry))
    with serve_judge([RULING]) as model, judging_by(model):
        outcome = run_evaluator(built(found["j"]), TRACE)
    assert isinstance(outcome, Score), outcome
    assert "It is 18 degrees in Paris." in model.prompts[0]


def test_a_judge_without_a_template_has_the_default_one(tmp_path: Path) -> None:
    found = load_evaluators(eval_file(tmp_path, {"name": "j", "type": "llm_judge"}))
    assert found == {"j": {"type": LlmJudge.type, "config": {}}}
    assert "{{expected_outcome}}" in DEFAULT_EVALUATOR_TEMPLATE


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"type": "code_judge", "script": "ls"}, r"evaluators\[0\] has no name"),
        ({"name": "a", "type": "code_judge"}, "the script names no program"),
        ({"name": "a", "type": "code_judge", "script": "cat x | jq ."}, "is for a shell"),
        ({"name": "a", "type": "code_judge", "script": "echo 'x"}, "No closing quotation"),
        ({"name": "a", "type": "code_judge", "script": "ls", "cdw": "."}, "did you mean 'cwd'"),
        ({"name": "a", "type": "latency", "threshold": 3}, "type 'latency' is none of code_judge"),
        ({"name": "a"}, "type None is none of"),
        ({"name": "a", "type": "llm_judge", "promt": "x"}, "'promt' means nothing here"),
        ({"name": "a", "type": "llm_judge", "prompt": 3}, "a prompt is a text or the path"),
    ],
)
def test_an_entry_that_cannot_be_used_is_told_with_its_place(
    tmp_path: Path, entry: dict[str, object], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        load_evaluators(eval_file(tmp_path, entry))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no mapping"),
        ("- a", "is no mapping"),
        ("execution: {}", "no list of evaluators under execution.evaluators"),
        ("execution: {evaluators: []}", "no list of evaluators"),
        ("execution: {evaluators: [1]}", r"evaluators\[0\] is no mapping"),
        ("a: [", "this is no YAML"),
        ("a: !!python/object:os.system x", "this is no YAML"),
    ],
)
def test_a_file_that_is_none_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text(text)
    with pytest.raises(DefinitionError, match=message):
        load_evaluators(path)


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    entry = {"name": "a", "type": "llm_judge"}
    with pytest.raises(DefinitionError, match="the name 'a' is taken"):
        load_evaluators(eval_file(tmp_path, entry, entry))


def test_a_script_of_ones_own_may_read_its_payload_with_names() -> None:
    text = json.dumps(payload_of(TRACE))
    payload = parse_code_judge_payload(text)
    assert payload.candidate_answer == "It is 18 degrees in Paris."
    assert read_code_judge_payload(io.StringIO(text)) == payload
    assert parse_code_judge_payload('{"question": "a", "later": 1}').input_files == ()
    with pytest.raises(ValueError, match="payload"):
        parse_code_judge_payload("[]")


def test_the_python_entry_of_the_document_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its command is `uv run`; where uv is not installed, the interpreter stands in for it."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "uv").write_text(f'#!/bin/sh\nexec {sys.executable} "$2"\n')
    (tools / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    (tmp_path / "evaluators").mkdir()
    script = block("AgentV", "Python Code Evaluator Template")
    (tmp_path / "evaluators" / "my_validator.py").write_text(script)
    (tmp_path / "eval.yaml").write_text(block("AgentV", "In Eval Files"))
    (spec,) = load_evaluators(tmp_path / "eval.yaml").values()
    outcome = run_evaluator(built(spec), make_trace(output="async"))
    assert isinstance(outcome, Score), outcome
    assert (outcome.value, outcome.hits) == (0.5, ("Contains required keyword: async",))


def test_the_typescript_entry_of_the_document_runs(tmp_path: Path) -> None:
    """Its path counts from the eval file, though its folder is another."""
    document = block("AgentV", "In Eval Files (2)")
    (project(tmp_path) / "evaluators").mkdir()
    (tmp_path / "evaluators" / "check-csv.ts").write_text(TYPESCRIPT)
    (tmp_path / "eval.yaml").write_text(document)
    (spec,) = load_evaluators(tmp_path / "eval.yaml").values()
    evaluator = Process.model_validate({**spec["config"], "timeout": 60})
    outcome = run_evaluator(evaluator, TRACE)
    assert isinstance(outcome, Score), outcome
    assert outcome.misses == ("never called book",)
