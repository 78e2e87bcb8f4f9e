"""The registry: built-ins, plugins, and configs that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import ValidationInfo, field_validator

from tracejury import Criteria, Evaluator, Trace, evaluator
from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.result import Score
from tracejury.testing import make_trace
from tracejury_evaluators.plugins import PluginRegistry, default_registry, installed_plugins
from tracejury_evaluators.registry import (
    BUILT_IN,
    Registry,
    built_in_registry,
)

HERE = "tests.unit.test_evaluator_registry"


@evaluator("says-hello")
def says_hello(trace: Trace, *, name: str = "") -> bool:
    """Passes if the answer greets.

    By name, if one is given.
    """
    return f"Hello {name}".strip() in trace.output_text


class AnotherRegex(Evaluator):
    type: ClassVar[str] = "regex"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
        return True


class Unlistable(Evaluator):
    type: ClassVar[str] = "unlistable"

    function: Callable[[], int]

    def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
        return True


class Unfinished(Evaluator):
    def judge(self) -> int:
        return 1


class Checker:
    """A class of another system; knows nothing of evaluators but how to become one."""

    name: ClassVar[str] = "checker"

    def check(self, text: str) -> bool:
        """Whether the text is fine."""
        return "fine" in text

    @classmethod
    def __tracejury_evaluator__(cls) -> type[Evaluator[Any]]:
        checker = cls()

        class Adapted(Evaluator):
            type: ClassVar[str] = checker.name

            def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
                return checker.check(trace.output_text)

        return Adapted


class NamelessChecker(Checker):
    name: ClassVar[str] = "no name"


class BrokenChecker(Checker):
    @classmethod
    def __tracejury_evaluator__(cls) -> type[Evaluator[Any]]:
        raise RuntimeError("not today")


class Unadapted(Checker):
    @classmethod
    def __tracejury_evaluator__(cls) -> Any:
        return 7


class Both(Evaluator):
    """An evaluator made of two others."""

    type: ClassVar[str] = "both"

    members: list[str]

    @field_validator("members")
    @classmethod
    def _known(cls, members: list[str], info: ValidationInfo) -> list[str]:
        for member in members:
            info.context["registry"].build(member)  # type: ignore[index]
        return members

    def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
        return True


def with_entry_point(name: str, value: str) -> PluginRegistry:
    registry = PluginRegistry(Path())
    add_entry_point(registry, name, value)
    return registry


def add_entry_point(registry: PluginRegistry, name: str, value: str) -> None:
    for plugin in installed_plugins([entry(name, value)]):
        registry.add(plugin)


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group="tracejury.evaluators")


def test_the_built_in_types_are_listed_in_their_order() -> None:
    rows = built_in_registry().types()
    assert [row.type for row in rows] == [cls.type for cls in BUILT_IN]
    for row in rows:
        assert row.builtin
        assert row.label
        assert row.description
        assert row.config_schema["additionalProperties"] is False
        assert row.criteria_schema["additionalProperties"] is False


def test_every_field_of_a_built_in_is_described() -> None:
    for row in built_in_registry().types():
        for schema in (row.config_schema, row.criteria_schema):
            for name, field in schema.get("properties", {}).items():
                assert field.get("description"), f"{row.type}.{name}"


def test_the_default_registry_holds_the_built_ins() -> None:
    assert {row.type for row in default_registry().types()} >= {cls.type for cls in BUILT_IN}


def test_an_entry_point_adds_a_type() -> None:
    registry = with_entry_point("hello", f"{HERE}:says_hello")
    row = registry.types()[-1]
    assert (row.type, row.label, row.builtin) == ("says-hello", "Says hello", False)
    assert row.description == "Passes if the answer greets.\n\nBy name, if one is given."
    built = registry.build("says-hello", {"name": "Ann"})
    assert run_evaluator(built, make_trace(output="Hello Ann!")) == Score(1.0, "pass")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module_anywhere:thing", "cannot be loaded: ModuleNotFoundError"),
        (f"{HERE}:missing", "cannot be loaded: AttributeError"),
        (f"{HERE}:HERE", "is no evaluator; name a subclass of Evaluator"),
        (f"{HERE}:entry", "is no evaluator"),
        (f"{HERE}:Unfinished", "Unfinished does not define evaluate"),
        (f"{HERE}:Unlistable", "unlistable has a field without a JSON Schema"),
        (
            f"{HERE}:AnotherRegex",
            "evaluator type 'regex' of entry point 'plugin' "
            f"({HERE}:AnotherRegex) is already registered (built in); rename one of the two",
        ),
    ],
)
def test_a_plugin_that_cannot_be_used_is_named(value: str, message: str) -> None:
    registry = PluginRegistry(Path())
    with pytest.raises(DefinitionError) as raised:
        add_entry_point(registry, "plugin", value)
    assert message in str(raised.value)
    assert "entry point 'plugin'" in str(raised.value)
    assert [row.type for row in registry.types()] == [cls.type for cls in BUILT_IN]


@pytest.mark.parametrize(
    ("type_name", "config", "message"),
    [
        ("regexx", {}, "evaluator type 'regexx' is unknown; did you mean 'regex'?"),
        ("", {}, "evaluator type '' is unknown; known are "),
        (
            "latency-budget",
            {},
            "evaluator latency-budget: config.budget_ms: this field is required",
        ),
        (
            "latency-budget",
            {"budget": 1},
            "config.budget: unknown field; did you mean 'budget_ms'?",
        ),
        (
            "latency-budget",
            {"budget_ms": -1},
            "config.budget_ms: Input should be greater than 0 (got -1)",
        ),
        ("latency-budget", {"budget_ms": float("nan")}, "config.budget_ms: Input should be"),
        ("non-empty-output", {"min": 1}, "config.min: unknown field; it takes no fields"),
        ("no-loops", {"zzz": 1}, "config.zzz: unknown field; it takes max_repeats, max_cycles"),
        ("no-loops", {"max_repeats": 1}, "config.max_repeats: Input should be greater than or"),
        ("no-loops", ["max_repeats"], "evaluator no-loops: config is a mapping, not list"),
        ("regex", {"pattern": "(?=a)"}, "config.pattern: RE2 does not take"),
        ("regex", {"pattern": "("}, "RE2 does not take the pattern '('"),
        ("regex", {"pattern": "a{1000}{1000}"}, "RE2 does not take the pattern"),
        ("regex", {"pattern": "a", "flags": "x"}, "config.flags: String should match"),
        (
            "json-schema",
            {"schema": {"type": "objekt"}},
            "config.schema: this is no JSON Schema: $.type: ",
        ),
        ("json-schema", {"schema": {"required": "a"}}, "this is no JSON Schema: $.required"),
        ("tool-jaccard", {"threshold": 2}, "config.threshold: Input should be less than"),
    ],
)
def test_a_config_that_does_not_fit_names_field_value_and_remedy(
    type_name: str, config: Any, message: str
) -> None:
    with pytest.raises(DefinitionError) as raised:
        built_in_registry().build(type_name, config)
    assert message in str(raised.value)


def test_many_errors_are_told_in_part() -> None:
    with pytest.raises(DefinitionError, match="and 5 more"):
        built_in_registry().build("no-loops", {f"x{number}": 1 for number in range(10)})


def test_a_schema_nested_without_bounds_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100):
        schema = {"not": schema}
    with pytest.raises(DefinitionError, match="nested deeper than 64 levels"):
        built_in_registry().build("json-schema", {"schema": schema})


def test_building_without_config_takes_the_defaults() -> None:
    registry = built_in_registry()
    assert registry.build("no-loops") == registry.build("no-loops", {"max_repeats": 3})


def test_a_function_of_no_kind_is_refused() -> None:
    with pytest.raises(DefinitionError, match="is no evaluator"):
        Registry().register(print, origin="here")


def test_a_class_of_another_system_is_registered_by_what_stands_for_it() -> None:
    registry = with_entry_point("theirs", f"{HERE}:Checker")
    row = registry.types()[-1]
    assert (row.type, row.origin) == ("checker", f"entry point 'theirs' ({HERE}:Checker)")
    assert run_evaluator(registry.build("checker"), make_trace(output="fine")) == Score(1.0, "pass")


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (NamelessChecker, "here: .*Adapted: type 'no name' is no name"),
        (BrokenChecker, "here: BrokenChecker cannot be made an evaluator: RuntimeError: not today"),
        (Unadapted, "here: 7 is no evaluator"),
    ],
)
def test_a_class_of_another_system_that_cannot_be_used_is_named(
    definition: type[Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        Registry().register(definition, origin="here")


def test_a_config_may_name_other_types_of_the_same_registry() -> None:
    registry = built_in_registry()
    registry.register(Both, origin="here")
    registry.register(says_hello, origin="here")
    assert registry.build("both", {"members": ["no-loops", "says-hello"]})
    with pytest.raises(DefinitionError, match=r"evaluator both: .*'say-hello' is unknown"):
        registry.build("both", {"members": ["say-hello"]})


def test_the_rows_say_where_a_type_comes_from() -> None:
    registry = built_in_registry()
    registry.register(says_hello, origin="entry point 'hello'")
    assert {row.origin for row in registry.types()[:-1]} == {"built in"}
    assert registry.types()[-1].origin == "entry point 'hello'"
