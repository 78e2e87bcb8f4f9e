"""Definitions of evaluators: what is refused when a class is made, and what identifies one."""

from __future__ import annotations

import subprocess
import sys
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from pydantic import Field, ValidationError

from tracejury import Criteria, Evaluator, Trace, evaluator
from tracejury.errors import DefinitionError
from tracejury.evaluator import criteria_hash, run_evaluator
from tracejury.result import Score
from tracejury.testing import make_trace


class Expected(Criteria):
    expected: str = ""


class Other(Criteria):
    other: str = ""


def no_type() -> None:
    class NoSecrets(Evaluator):
        def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
            return True


def empty_type() -> None:
    class Empty(Evaluator):
        type: ClassVar[str] = "two words"

        def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
            return True


def type_as_a_field() -> None:
    class Field(Evaluator):
        type: str = "field"  # type: ignore[misc]

        def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
            return True


def field_named_like_a_method() -> None:
    class Shadow(Evaluator):
        type: ClassVar[str] = "shadow"
        fingerprint: str = ""  # type: ignore[assignment]

        def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
            return True


def version_as_text() -> None:
    class Versioned(Evaluator):
        type: ClassVar[str] = "versioned"
        version: ClassVar[Any] = "2"

        def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
            return True


def no_evaluate() -> None:
    class Nothing(Evaluator):
        type: ClassVar[str] = "nothing"


def evaluate_is_no_method() -> None:
    class Value(Evaluator):
        type: ClassVar[str] = "value"
        evaluate: ClassVar[Any] = 5


def evaluate_without_criteria() -> None:
    class Short(Evaluator):
        type: ClassVar[str] = "short"

        def evaluate(self, trace: Trace) -> bool:  # type: ignore[override]
            return True


def evaluate_with_other_criteria() -> None:
    class Mixed(Evaluator[Expected]):
        type: ClassVar[str] = "mixed"

        def evaluate(self, trace: Trace, criteria: Other) -> bool:  # type: ignore[override]
            return True


def criteria_undeclared() -> None:
    class Undeclared(Evaluator):
        type: ClassVar[str] = "undeclared"

        def evaluate(self, trace: Trace, criteria: Expected) -> bool:  # type: ignore[override]
            return True


def criteria_of_a_wrong_type() -> None:
    class Wrong(Evaluator[dict]):  # type: ignore[type-var,type-arg]
        type: ClassVar[str] = "wrong"


def function_without_a_name() -> None:
    @evaluator  # type: ignore[arg-type]
    def check(trace: Trace) -> bool:
        return True


def function_without_a_trace() -> None:
    @evaluator("check")  # type: ignore[arg-type]
    def check() -> bool:
        return True


def function_with_positional_config() -> None:
    @evaluator("check")
    def check(trace: Trace, currency: str) -> bool:
        return True


def function_with_open_config() -> None:
    @evaluator("check")
    def check(trace: Trace, *args: str) -> bool:
        return True


def function_with_a_reserved_parameter() -> None:
    @evaluator("check")
    def check(trace: Trace, *, version: int = 1) -> bool:
        return True


def function_with_unreadable_annotations() -> None:
    class Local(Criteria):
        pass

    @evaluator("check")
    def check(trace: Trace, criteria: Local) -> bool:
        return True


@pytest.mark.parametrize(
    ("define", "message"),
    [
        (no_type, "NoSecrets has no type: add `type: ClassVar[str] = 'no-secrets'`"),
        (empty_type, "type 'two words' is no name"),
        (type_as_a_field, "type is no config field; write `type: ClassVar[...] = ...`"),
        (field_named_like_a_method, "every evaluator has a method fingerprint; rename the config"),
        (version_as_text, "version '2' is no whole number from 1"),
        (no_evaluate, "Nothing has no evaluate method: add `def evaluate(self, trace"),
        (evaluate_is_no_method, "evaluate is no method"),
        (evaluate_without_criteria, "cannot be called with a trace and its criteria"),
        (
            evaluate_with_other_criteria,
            "Mixed declares Expected as its criteria, but evaluate takes Other; "
            "write `class Mixed(Evaluator[Other])` or `criteria: Expected`",
        ),
        (criteria_undeclared, "write `class Undeclared(Evaluator[Expected])`"),
        (criteria_of_a_wrong_type, "dict is no criteria type; write `class dict(Criteria):`"),
        (function_without_a_name, 'an evaluator needs a name; write @evaluator("my-check")'),
        (function_without_a_trace, "write (trace, *, config...)"),
        (function_with_positional_config, "the parameter 'currency' is no Criteria"),
        (function_with_open_config, "write (trace, *, config...)"),
        (function_with_a_reserved_parameter, "the config parameter 'version' is reserved"),
        (function_with_unreadable_annotations, "name 'Local' is not defined"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_wrong_definition_is_refused_with_its_remedy(
    define: Callable[[], None], message: str
) -> None:
    with pytest.raises(DefinitionError) as raised:
        define()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


class Threshold(Evaluator[Expected]):
    """A base for checks with a threshold; it needs no type."""

    threshold: float = Field(default=0.5, ge=0, le=1)

    @abstractmethod
    def measure(self, trace: Trace) -> float: ...

    def evaluate(self, trace: Trace, criteria: Expected) -> Score:
        return Score(self.measure(trace), reason=criteria.expected)


class Length(Threshold):
    type: ClassVar[str] = "length"
    longest: int = 100

    def measure(self, trace: Trace) -> float:
        return min(1.0, len(trace.output_text) / self.longest)


def test_a_class_with_abstract_methods_is_a_base_for_others() -> None:
    outcome = run_evaluator(Length(), make_trace(output="x" * 60), {"expected": "a"})
    assert outcome == Score(0.6, "pass", "a")
    assert Length.criteria_type() is Expected


K = TypeVar("K", bound=Criteria)


class AnyCriteria(Evaluator[K], Generic[K]):
    """A base that leaves its criteria to its subclasses."""

    @abstractmethod
    def wanted(self, criteria: K) -> str: ...

    def evaluate(self, trace: Trace, criteria: K) -> bool:
        return self.wanted(criteria) in trace.output_text


class OtherWord(AnyCriteria[Other]):
    type: ClassVar[str] = "other-word"

    def wanted(self, criteria: Other) -> str:
        return criteria.other


def test_a_base_may_leave_its_criteria_open() -> None:
    assert OtherWord.criteria_type() is Other
    trace = make_trace(output="one two")
    assert run_evaluator(OtherWord(), trace, {"other": "two"}) == Score(1.0, "pass")


def test_each_run_has_criteria_of_its_own() -> None:
    class Collected(Criteria):
        seen: list[str] = Field(default_factory=list)

    class Collects(Evaluator[Collected]):
        type: ClassVar[str] = "collects"

        def evaluate(self, trace: Trace, criteria: Collected) -> bool:
            criteria.seen.append(trace.trace_id)
            return len(criteria.seen) == 1

    for _ in range(3):
        assert run_evaluator(Collects(), make_trace()) == Score(1.0, "pass")


def test_a_config_is_frozen_and_takes_no_unknown_fields() -> None:
    with pytest.raises(ValidationError):
        Length.model_validate({"longst": 5})
    with pytest.raises(ValidationError):
        Length().longest = 5


def test_a_default_that_does_not_fit_is_refused() -> None:
    class Wrong(Evaluator):
        type: ClassVar[str] = "wrong"
        limit: int = "many"  # type: ignore[assignment]

        def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
            return True

    with pytest.raises(ValidationError):
        Wrong()


@evaluator("keyed")
def keyed(trace: Trace, *, schema: int = 1, json: str = "", tags: set[str] = frozenset()) -> bool:  # type: ignore[assignment]
    """Takes parameters whose names a model uses itself."""
    return schema > 1 and not json


def test_parameters_may_have_names_that_a_model_uses() -> None:
    config = {"schema": 2, "json": ""}
    built = keyed.evaluator_type.model_validate(config)
    assert run_evaluator(built, make_trace()) == Score(1.0, "pass")
    assert list(built.config_schema()["properties"]) == ["schema", "json", "tags"]
    with pytest.raises(ValidationError):
        keyed.evaluator_type.model_validate({"schemas": 1})


def test_a_fingerprint_tells_evaluators_that_judge_differently() -> None:
    class Longer(Length):
        type: ClassVar[str] = "longer"

    class Newer(Length):
        version: ClassVar[int] = 2

    built = [Length(), Length(longest=5), Longer(), Newer(), Length(threshold=0.7)]
    fingerprints = {each.fingerprint() for each in built}
    assert len(fingerprints) == len(built)
    assert all(len(fingerprint) == 16 for fingerprint in fingerprints)


def test_a_fingerprint_counts_defaults_that_were_not_given() -> None:
    assert Length().fingerprint() == Length(longest=100, threshold=0.5).fingerprint()


PRINT_FINGERPRINT = """
from tests.unit.test_evaluator_definition import keyed
from tracejury.evaluator import criteria_hash
print(keyed(tags=set("abcdefgh")).fingerprint(), criteria_hash({"b": set("xyz"), "a": 1}))
"""


def test_hashes_are_the_same_in_every_process() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", PRINT_FINGERPRINT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    here = keyed(tags=set("abcdefgh")).fingerprint()
    assert printed == {f"{here} {criteria_hash({'a': 1, 'b': set('zyx')})}\n"}


def test_no_criteria_have_no_hash() -> None:
    assert criteria_hash(None) == criteria_hash({}) == criteria_hash(Expected()) == ""


def test_criteria_hash_alike_as_a_mapping_and_as_an_instance() -> None:
    assert criteria_hash({"expected": "a"}) == criteria_hash(Expected(expected="a"))
    assert criteria_hash({"expected": "a"}) != criteria_hash({"expected": "b"})


def test_criteria_nested_without_bounds_are_refused() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper than 100 levels"):
        criteria_hash({"a": deep})
