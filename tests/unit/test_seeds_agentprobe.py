"""The code of AgentProbe's document runs with only its imports changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.helpers.seeds import as_coroutine, block, load, program, run_pytest
from tracejury.evaluator import run_evaluator
from tracejury.testing import make_llm_call, make_trace
from tracejury_evaluators.adapters.agentprobe import TestCase, ToolCall, Trace
from tracejury_evaluators.registry import built_in_registry

RECIPES = (
    "Minimal Evaluator",
    "Evaluator with Configuration",
    "Output Format Validator",
    "Latency Budget Evaluator",
    "Tool Usage Auditor",
    "Token Budget Evaluator",
    "Regex Pattern Matcher",
    "Composite Evaluator",
)
CASE = TestCase(name="trip", input_text="A trip to Lyon")
GOOD = Trace(
    agent_name="guide",
    output_text='{"city": "Lyon", "temperature": 18.5, "on": "2026-05-01 https://lyon.example/x"}',
    total_latency_ms=400,
    total_input_tokens=500,
    total_output_tokens=100,
    tool_calls=tuple(
        ToolCall(tool_name=name) for name in ("search", "filter_results", "summarize")
    ),
)
BAD = Trace(
    agent_name="guide",
    output_text="",
    total_latency_ms=90_000,
    total_input_tokens=50_000,
    total_output_tokens=9_000,
)
ANSWERS = {
    "Minimal Evaluator": ("pass", "fail"),
    "Output Format Validator": ("pass", "fail"),
    "Latency Budget Evaluator": ("pass", "fail"),
    "Tool Usage Auditor": ("pass", "fail"),
    "Token Budget Evaluator": ("pass", "fail"),
    "Regex Pattern Matcher": ("pass", "partial"),
    "Composite Evaluator": ("pass", "fail"),
}


@pytest.fixture
def recipes(tmp_path: Path) -> ModuleType:
    return load(program("AgentProbe", *RECIPES), tmp_path / "recipes.py")


def used(place: str, trace: Trace, folder: Path) -> dict[str, Any]:
    """The variables after the code that shows how a recipe is used."""
    usage = as_coroutine(block("AgentProbe", f"{place} (2)"), "usage")
    module = load(program("AgentProbe", *RECIPES) + usage, folder / "used.py")
    variables: dict[str, Any] = asyncio.run(module.usage(CASE, trace))
    return variables


@pytest.mark.parametrize("place", ANSWERS)
def test_a_recipe_is_used_as_the_document_shows(place: str, tmp_path: Path) -> None:
    result = used(place, GOOD, tmp_path)["result"]
    assert (result.verdict.value, result.duration_ms >= 0) == (ANSWERS[place][0], True)


@pytest.mark.parametrize("place", [place for place in ANSWERS if place != "Minimal Evaluator"])
def test_a_recipe_finds_what_is_wrong(place: str, tmp_path: Path) -> None:
    assert used(place, BAD, tmp_path)["result"].verdict.value == ANSWERS[place][1]


def test_the_minimal_recipe_finds_an_empty_output(recipes: ModuleType) -> None:
    result = asyncio.run(recipes.NonEmptyOutputEvaluator().evaluate(CASE, BAD))
    assert result.verdict.value == "fail"


def test_the_recipe_with_configuration_is_used_as_the_document_shows(tmp_path: Path) -> None:
    variables = used("Evaluator with Configuration", GOOD, tmp_path)
    verdicts = [
        asyncio.run(variables[name].evaluate(CASE, GOOD)).verdict.value
        for name in ("strict", "lenient")
    ]
    assert verdicts == ["fail", "pass"]


def test_the_documents_tests_pass_in_pytest(tmp_path: Path) -> None:
    code = program("AgentProbe", *RECIPES, "Testing Your Evaluator")
    path = tmp_path / "tests" / "test_evaluators.py"
    path.parent.mkdir()
    path.write_text(code, encoding="utf-8")
    assert run_pytest(path) == ["PASSED"] * 5


def test_the_plugin_is_found_and_creates_its_evaluator(tmp_path: Path) -> None:
    plugin = program("AgentProbe", *RECIPES, "1. Create the plugin class")
    module = load(plugin, tmp_path / "plugin.py")
    for place in ("3. Use the plugin", "3. Use the plugin (2)"):
        exec(compile(program("AgentProbe", place), place, "exec"), vars(module))  # noqa: S102
    assert module.evaluators == []
    (created,) = module.manager.get_evaluators()
    assert (type(created).__name__, created.budget_ms) == ("LatencyBudgetEvaluator", 5000)


def test_every_recipe_is_named_in_a_config_and_judges_our_traces(recipes: ModuleType) -> None:
    registry = built_in_registry()
    for value in list(vars(recipes).values()):
        if isinstance(value, type) and value.__module__ == recipes.__name__:
            registry.register(value, origin="the document")
    config = yaml.safe_load("""
        good: {type: composite-evaluator, config: {evaluators: [
            [{type: non-empty-output-evaluator}, 1.0],
            [{type: min-word-count-evaluator, config: {min_words: 2}}, 1.0],
            [{type: latency-budget-evaluator, config: {budgetMs: 5000}}, 2.0],
            [{type: token-budget-evaluator, config: {max_total_tokens: 8000}}, 1.5],
            [{type: tool-usage-auditor, config: {expected_tools: [search]}}, 3.0]]}}
        json: {type: json-schema-evaluator, config: {schema: {type: object, required: [a]}}}
        date: {type: regex-pattern-matcher, config: {patterns: [{pattern: "\\\\d{4}"}]}}
    """)
    trace = make_trace(
        output='{"a": 2026}', tool_calls=["search"], llm_calls=[make_llm_call()], latency_ms=500
    )
    for spec in config.values():
        outcome = run_evaluator(registry.build(spec["type"], spec["config"]), trace)
        assert getattr(outcome, "verdict", outcome) in ("pass", "partial")
