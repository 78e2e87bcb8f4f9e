"""Evaluators in AgentProbe's form: alone, and as evaluators of ours."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import letters
from tracejury import Evaluator, Failure, Score, Skip
from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.testing import make_llm_call, make_tool_call, make_trace
from tracejury.trace import Flags
from tracejury_evaluators.adapters.agentprobe import (
    BaseEvaluator,
    EvalResult,
    EvaluatorPlugin,
    EvalVerdict,
    PluginBase,
    PluginManager,
    PluginType,
    TestCase,
    Trace,
    as_evaluator,
)
from tracejury_evaluators.registry import Registry, built_in_registry

LETTER = make_trace(
    output="Dear Ann, thanks.",
    tool_calls=[make_tool_call("find_address"), make_tool_call("send")],
    llm_calls=[make_llm_call(input_tokens=70, output_tokens=30)],
    latency_ms=1500,
)


@pytest.fixture
def registry() -> Registry:
    registry = built_in_registry()
    for name in ("GreetsByName", "Affordable", "LooksUpFirst", "AsExpected", "Both"):
        registry.register(getattr(letters, name), origin="letters.py")
    registry.register(letters.LettersPlugin, origin="letters.py")
    return registry


class Raises(BaseEvaluator):
    """Breaks as it is told."""

    def __init__(self, error: BaseException | None = None) -> None:
        super().__init__("raises")
        self.error = error

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        if self.error is not None:
            raise self.error
        return None  # type: ignore[return-value]


def test_evaluate_is_timed_and_gives_what_was_found() -> None:
    trace = Trace(agent_name="clerk", output_text="Dear Ann")
    result = asyncio.run(letters.GreetsByName().evaluate(TestCase(name="a"), trace))
    assert (result.verdict, result.score, result.evaluator_name) == (
        EvalVerdict.PASS,
        1.0,
        "greets",
    )
    assert result.duration_ms is not None
    assert result.duration_ms >= 0


@pytest.mark.parametrize("error", [KeyError("address"), None], ids=["raises", "returns nothing"])
def test_evaluate_answers_with_an_error_for_what_is_raised(error: Exception | None) -> None:
    result = asyncio.run(Raises(error).evaluate(TestCase(), Trace()))
    assert (result.verdict, result.score) == (EvalVerdict.ERROR, 0.0)
    assert result.metadata["error_type"] == ("KeyError" if error else "TypeError")
    assert result.metadata["duration_ms"] >= 0


@pytest.mark.parametrize(
    ("type_name", "config", "verdict"),
    [
        ("greets-by-name", {}, "pass"),
        ("greets-by-name", {"greeting": "Hi"}, "fail"),
        ("affordable", {"tokens": 100, "seconds": 1.5}, "pass"),
        ("affordable", {"tokens": 100, "seconds": 1}, "fail"),
        ("looks-up-first", {}, "pass"),
        ("letters-plugin", {}, "fail"),
    ],
)
def test_a_class_is_named_by_its_type_with_its_parameters_as_config(
    registry: Registry, type_name: str, config: dict[str, Any], verdict: str
) -> None:
    outcome = run_evaluator(registry.build(type_name, config), LETTER)
    assert isinstance(outcome, Score)
    assert outcome.verdict == verdict


def test_score_reason_and_metadata_are_kept(registry: Registry) -> None:
    outcome = run_evaluator(registry.build("greets-by-name"), make_trace(output="Dear"))
    assert outcome == Score(0.5, "partial", "greeting 'Dear'", details={"greeting": "Dear"})


def test_the_schema_of_the_config_is_that_of_the_parameters(registry: Registry) -> None:
    schema = registry.evaluator_class("affordable").config_schema()
    assert schema["required"] == ["tokens"]
    assert list(schema["properties"]) == ["tokens", "seconds", "schema"]
    row = next(row for row in registry.types() if row.type == "affordable")
    assert row.description.startswith("Passes if the letter took no more tokens")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, r"config\.tokens: this field is required"),
        ({"tokens": "many"}, r"config\.tokens: .*integer"),
        ({"tokens": 1, "second": 2}, r"config\.second: unknown field; did you mean 'seconds'"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(
    registry: Registry, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        registry.build("affordable", config)


def test_evaluators_take_evaluators_named_in_their_config(registry: Registry) -> None:
    member = {"type": "greets-by-name", "config": {"greeting": "Dear"}}
    config = {"first": member, "others": [[{"type": "looks-up-first"}, 3.0]]}
    both = registry.build("both", config)
    outcome = run_evaluator(both, LETTER)
    assert isinstance(outcome, Score)
    assert (outcome.verdict, outcome.details) == ("pass", {"members": ["greets", "looks-up-first"]})
    other = registry.build("both", {**config, "others": []})
    again = registry.build("both", config)
    assert both.fingerprint() == again.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ({"type": "nothing"}, "evaluator type 'nothing' is unknown"),
        ({"type": "no-loops"}, "no BaseEvaluator written for AgentProbe"),
        ({"type": "affordable"}, r"config\.tokens: this field is required"),
        ("greets-by-name", "give a type and its config"),
    ],
)
def test_a_member_that_is_none_is_refused(registry: Registry, first: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        registry.build("both", {"first": first, "others": []})


def test_the_criteria_become_the_test_case(registry: Registry) -> None:
    criteria = {
        "name": "case 1",
        "inputText": "Write to Ann",
        "expected_output": "Dear Ann, thanks.",
        "tags": ["mail"],
        "metadata": {"n": 1},
    }
    outcome = run_evaluator(registry.build("as-expected"), LETTER, criteria)
    assert isinstance(outcome, Score)
    assert (outcome.verdict, outcome.details) == (
        "pass",
        {"name": "case 1", "input_text": "Write to Ann", "tags": ["mail"], "metadata": {"n": 1}},
    )


def test_without_criteria_the_test_case_is_told_by_the_trace(registry: Registry) -> None:
    outcome = run_evaluator(registry.build("as-expected"), LETTER)
    assert isinstance(outcome, Score)
    assert outcome.verdict == "fail"
    assert outcome.details["input_text"] == LETTER.input_text


@pytest.mark.parametrize(
    ("type_name", "config", "trace", "reason"),
    [
        ("affordable", {"tokens": 1}, make_trace(), "input tokens were not recorded"),
        (
            "affordable",
            {"tokens": 500, "seconds": 1},
            make_trace(llm_calls=[make_llm_call()], end_ns=0),
            "no recorded start or end",
        ),
        (
            "greets-by-name",
            {},
            make_trace(output="", flags=Flags(not_captured=True)),
            "the output was not captured",
        ),
        (
            "looks-up-first",
            {},
            make_trace(flags=Flags(not_captured=True)),
            "tool calls cannot be seen",
        ),
        (
            "both",
            {"first": {"type": "affordable", "config": {"tokens": 1}}, "others": []},
            make_trace(),
            "input tokens were not recorded",
        ),
    ],
)
def test_reading_what_was_not_recorded_is_a_skip(
    registry: Registry, type_name: str, config: dict[str, Any], trace: Any, reason: str
) -> None:
    outcome = run_evaluator(registry.build(type_name, config), trace)
    assert isinstance(outcome, Skip)
    assert reason in outcome.reason


def test_what_is_not_read_may_be_missing(registry: Registry) -> None:
    assert isinstance(run_evaluator(registry.build("greets-by-name"), make_trace()), Score)


@pytest.mark.parametrize("error", [KeyError("address"), SystemExit(3), None])
def test_an_evaluator_that_breaks_is_a_failure(error: BaseException | None) -> None:
    outcome = run_evaluator(as_evaluator(Raises(error)), LETTER)
    assert isinstance(outcome, Failure)
    assert outcome.error_type == (type(error).__name__ if error else "TypeError")
    assert "_evaluate" in outcome.traceback


def test_a_verdict_of_error_is_a_failure() -> None:
    class GivesUp(BaseEvaluator):
        async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
            return EvalResult(
                evaluator_name="x", verdict=EvalVerdict.ERROR, score=0.0, reason="no address"
            )

    outcome = run_evaluator(as_evaluator(GivesUp("gives-up")), LETTER)
    assert outcome == Failure("EvaluationError", "no address")


def test_a_ready_evaluator_is_told_by_its_attributes() -> None:
    prints = [as_evaluator(letters.GreetsByName(g)).fingerprint() for g in ("Dear", "Hi", "Dear")]
    assert prints[0] == prints[2] != prints[1]


def test_a_class_without_evaluate_is_refused() -> None:
    class Nothing(BaseEvaluator):
        pass

    with pytest.raises(DefinitionError, match="Nothing does not define _evaluate; add"):
        built_in_registry().register(Nothing, origin="file.py")


def test_a_parameter_that_no_config_can_hold_is_refused_or_left_out() -> None:
    class Wire:
        pass

    class Sends(letters.AsExpected):
        def __init__(self, wire: Wire) -> None:
            super().__init__()

    class MaySend(letters.AsExpected):
        def __init__(self, wire: Wire | None = None, retries: int = 2) -> None:
            super().__init__()

    for made in (Sends, MaySend):
        made.__init__.__annotations__["wire"] = Wire
    with pytest.raises(DefinitionError, match="parameter 'wire' is no data that a config"):
        built_in_registry().register(Sends, origin="file.py")
    registry = built_in_registry()
    registry.register(MaySend, origin="file.py")
    schema = registry.evaluator_class("may-send").config_schema()
    assert list(schema["properties"]) == ["retries"]


def test_the_name_of_a_built_in_type_is_not_taken(registry: Registry) -> None:
    class LatencyBudget(letters.GreetsByName):
        pass

    with pytest.raises(DefinitionError, match=r"already registered \(built in\); rename one"):
        registry.register(LatencyBudget, origin="file.py")


def test_a_plugin_is_an_evaluator_told_by_its_version(registry: Registry) -> None:
    class LettersPlugin(letters.LettersPlugin):
        @property
        def version(self) -> str:
            return "2.2"

    newer: type[Evaluator[Any]] = LettersPlugin.__tracejury_evaluator__()
    assert newer().fingerprint() != registry.build("letters-plugin").fingerprint()


class Recording(EvaluatorPlugin):
    """Keeps what it is told."""

    told: list[str]

    def __init__(self) -> None:
        self.told = []

    @property
    def name(self) -> str:
        return "recording"

    def on_load(self) -> None:
        self.told.append("load")

    def on_unload(self) -> None:
        self.told.append("unload")

    def on_test_start(self, test_name: str, **kwargs: Any) -> None:
        self.told.append(f"start {test_name} {kwargs}")

    def on_test_end(self, test_name: str, **kwargs: Any) -> None:
        raise OSError("disk full")

    def on_suite_start(self, **kwargs: Any) -> None:
        self.told.append("suite")

    def on_suite_end(self, **kwargs: Any) -> None:
        self.told.append("suite over")

    def create_evaluator(self) -> BaseEvaluator:
        raise RuntimeError("no evaluator today")


def test_a_manager_calls_hooks_and_survives_those_that_raise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = PluginManager()
    (plugin, _) = manager.load_plugins(classes=[Recording, letters.LettersPlugin])
    assert isinstance(plugin, Recording)
    manager.dispatch_suite_start()
    manager.dispatch_test_start("a", n=1)
    manager.dispatch_test_end("a")
    manager.dispatch_suite_end()
    with caplog.at_level(logging.ERROR):
        assert [made.name for made in manager.get_evaluators()] == ["greets"]
    assert "plugin recording created nothing" in caplog.text
    manager.unload_all()
    assert plugin.told == ["load", "suite", "start a {'n': 1}", "suite over", "unload"]
    assert manager.list_plugins() == []


def test_loading_twice_keeps_one_of_each() -> None:
    manager = PluginManager()
    first = manager.load_plugins(classes=[letters.LettersPlugin])
    assert manager.load_plugins(classes=[letters.LettersPlugin]) == first
    assert manager.list_by_type(PluginType.EVALUATOR) == first == [manager.get("letters")]
    assert manager.list_by_type(PluginType.REPORTER) == manager.get_reporters() == []


def test_a_class_given_by_hand_must_be_a_plugin_with_a_name_of_its_own() -> None:
    class Other(letters.LettersPlugin):
        pass

    manager = PluginManager()
    manager.load_plugins(classes=[letters.LettersPlugin])
    with pytest.raises(DefinitionError, match="the plugin name 'letters' is taken"):
        manager.load_plugins(classes=[Other])
    with pytest.raises(DefinitionError, match="is no plugin; name a subclass of EvaluatorPlugin"):
        manager.load_plugins(classes=[letters.AsExpected])  # type: ignore[list-item]
    with pytest.raises(DefinitionError, match="does not define create_evaluator, name"):
        manager.load_plugins(classes=[EvaluatorPlugin])  # type: ignore[type-abstract]
    with pytest.raises(DefinitionError, match="does not define create_evaluator, name"):
        built_in_registry().register(EvaluatorPlugin, origin="file.py")


def test_plugins_are_found_in_folders_and_a_broken_file_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mail = "from tests.helpers.letters import LettersPlugin\nclass Mail(LettersPlugin): pass\n"
    (tmp_path / "mail.py").write_text(mail)
    (tmp_path / "broken.py").write_text("raise RuntimeError('no such post office')")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "_private.py").write_text("raise RuntimeError('never read')")
    manager = PluginManager()
    loaded = manager.load_plugins(directories=[tmp_path, tmp_path / "gone"])
    assert [type(plugin).__name__ for plugin in loaded] == ["Mail"]
    for part in ("no such post office", "empty.py has no plugin", "gone does not exist"):
        assert part in caplog.text
    assert "never read" not in caplog.text


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "post-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: post\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[agentprobe.plugins]\nletters = tests.helpers.letters:LettersPlugin\n"
        "broken = tests.helpers.letters:Nowhere\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


def test_plugins_of_installed_packages_are_found(
    installed: None, caplog: pytest.LogCaptureFixture
) -> None:
    manager = PluginManager()
    before = letters.LettersPlugin.loaded
    loaded = manager.load_plugins()
    assert [plugin.name for plugin in loaded] == ["letters"]
    assert letters.LettersPlugin.loaded == before + 1
    assert [type(made) for made in manager.get_evaluators()] == [letters.GreetsByName]
    assert "entry point 'broken'" in caplog.text


def test_the_other_kinds_of_plugins_create_theirs() -> None:
    from tracejury_evaluators.adapters import agentprobe

    kinds = {"Adapter": "adapter", "Reporter": "reporter", "Storage": "storage"}
    manager = PluginManager()
    for base, kind in kinds.items():
        body = {"name": kind, f"create_{kind}": lambda _: {"a": 1}}
        made = type(base, (getattr(agentprobe, f"{base}Plugin"),), body)
        assert issubclass(made, PluginBase)
        (plugin,) = manager.load_plugins(classes=[made])
        assert plugin.plugin_type == kind
    found = [manager.get_adapters(), manager.get_reporters(), manager.get_storage_backends()]
    assert found == [[{"a": 1}]] * 3
