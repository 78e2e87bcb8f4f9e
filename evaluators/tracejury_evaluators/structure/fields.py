"""Named fields of an answer's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from tracejury.evaluator import Criteria
from tracejury.evaluator.names import WithAliases
from tracejury.result import Score, Skip, default_verdict
from tracejury_evaluators.json_text import MAX_DEPTH, depth, kind_of
from tracejury_evaluators.patterns import Pattern, compiled, encoded
from tracejury_evaluators.structure.base import JsonEvaluator, JudgeData
from tracejury_evaluators.structure.compare import Comparison, Rules, TooLarge
from tracejury_evaluators.structure.paths import Step, find, read_path

MAX_FIELDS = 200
MAX_SHOWN_CHARS = 60
JsonType = Literal["string", "number", "integer", "boolean", "object", "array", "null"]


def _is_path(path: str) -> str:
    read_path(path)
    return path


Path = Annotated[str, StringConstraints(max_length=1_000), AfterValidator(_is_path)]


class FieldCheck(WithAliases):
    """What one field must be; of several conditions all must hold."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())
    aliases: ClassVar[Mapping[str, str]] = {"value": "equals", "regex": "matches"}

    path: Path = Field(description="JSONPath (`$.a[0].b`, `[*]`) or JSON Pointer (`/a/0/b`)")
    equals: JsonValue = Field(default=None, description="the value it must have")
    one_of: list[JsonValue] | None = Field(default=None, description="values of which it has one")
    type: JsonType | None = Field(default=None, description="JSON type; 1.0 is an integer")
    matches: Pattern | None = Field(
        default=None, description="RE2 pattern that its text must match somewhere"
    )
    min: float | None = Field(default=None, description="smallest number")
    max: float | None = Field(default=None, description="largest number")
    tolerance: float = Field(
        default=0, ge=0, allow_inf_nan=False, description="numbers in `equals` may differ by this"
    )
    present: bool = Field(default=True, description="false: it must not be there")
    weight: float = Field(default=1, gt=0, allow_inf_nan=False, description="share in the value")

    @model_serializer(mode="wrap")
    def _as_given(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only what was given: a value of null that it must have is not one left out."""
        return {name: value for name, value in write(self).items() if name in self.model_fields_set}

    @model_validator(mode="after")
    def _is_sound(self) -> FieldCheck:
        if depth([self.equals, self.one_of]) > MAX_DEPTH:
            raise ValueError(f"{self.path}: the value is nested deeper than {MAX_DEPTH} levels")
        conditions = {"equals", "one_of", "type", "matches", "min", "max"}
        if not self.present and conditions & self.model_fields_set:
            raise ValueError(f"{self.path}: what must not be there has no other condition")
        return self


class FieldsCriteria(Criteria):
    """The fields of one case."""

    aliases: ClassVar[Mapping[str, str]] = {"expected_output": "expected"}

    fields: list[FieldCheck] | None = Field(
        default=None, max_length=MAX_FIELDS, description="checks, instead of those of the config"
    )
    expected: dict[Path, JsonValue] | None = Field(
        default=None, max_length=MAX_FIELDS, description="values by path, instead of the config's"
    )


class JsonFields(JsonEvaluator[FieldsCriteria]):
    """Passes if the fields that are named are in the answer's JSON as they must be.

    The value is the weighted share of the checks that hold; fields that no check names are
    free. With a wildcard a check must hold for every value, and there must be one. Skipped
    where no check is given, where the answer was not captured, and where it was truncated or
    redacted and a check does not hold.
    """

    type: ClassVar[str] = "json-fields"
    label: ClassVar[str] = "JSON fields"

    fields: list[FieldCheck] = Field(
        default=[], max_length=MAX_FIELDS, description="checks, each of one field; see below"
    )
    expected: dict[Path, JsonValue] = Field(
        default={}, max_length=MAX_FIELDS, description="values by path: short for `equals`"
    )
    threshold: float = Field(
        default=1.0, ge=0, le=1, description="share of the checks from which the case passes"
    )

    @cached_property
    def _expected(self) -> list[FieldCheck]:
        return _equalities(self.expected)

    def judge_for(self, criteria: FieldsCriteria) -> JudgeData | Skip:
        given = self.fields if criteria.fields is None else criteria.fields
        expected = self._expected if criteria.expected is None else _equalities(criteria.expected)
        checks = [*given, *expected]
        if not checks:
            return Skip("no field is named, neither in the config nor in the criteria")
        return lambda data: self._checked(data, checks)

    def _checked(self, data: Any, checks: Sequence[FieldCheck]) -> Score | Skip:
        try:
            wrong = {
                index: why for index, check in enumerate(checks) if (why := _wrong(check, data))
            }
        except (TooLarge, TooMany) as error:
            return Skip(str(error))
        heaviest = max(check.weight for check in checks)  # so that sums stay finite
        weights = [check.weight / heaviest for check in checks]
        held = sum(weight for index, weight in enumerate(weights) if index not in wrong)
        value = held / sum(weights)
        misses = [f"{checks[index].path}: {why}" for index, why in wrong.items()]
        passed = len(checks) - len(wrong)
        reason = f"{passed} of {len(checks)} fields are as they must be"
        return Score(
            value,
            default_verdict(value, self.threshold),
            f"{reason}; {misses[0]}" if misses else reason,
            hits=[check.path for index, check in enumerate(checks) if index not in wrong],
            misses=misses,
            details={"fields": len(checks), "held": passed},
        )


def _equalities(expected: Mapping[str, JsonValue]) -> list[FieldCheck]:
    return [FieldCheck(path=path, equals=value) for path, value in expected.items()]


class TooMany(ValueError):
    """A path leads to more values than can be looked at."""


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    return read_path(path)


def _wrong(check: FieldCheck, data: Any) -> str:
    """Why a check does not hold; "" where it does."""
    try:
        found = find(data, _steps(check.path))
    except ValueError as error:
        raise TooMany(f"{check.path}: {error}") from None
    if not check.present:
        return f"is there: {_shown(found[0])}" if found else ""
    if not found:
        return "is missing"
    return next((why for value in found if (why := _wrong_value(check, value))), "")


def _wrong_value(check: FieldCheck, value: Any) -> str:
    given = check.model_fields_set
    if "equals" in given and not _equal(check.equals, value, check.tolerance):
        return f"is {_shown(value)}, not {_shown(check.equals)}"
    if check.one_of is not None and not any(
        _equal(one, value, check.tolerance) for one in check.one_of
    ):
        return f"is {_shown(value)}, none of the {len(check.one_of)} values allowed"
    if check.type is not None and not _is_of(check.type, value):
        return f"is {_shown(value)}, of type {kind_of(value)} and not {check.type}"
    if check.matches is not None and not _matches(check.matches, value):
        return f"is {_shown(value)}, which {check.matches!r} does not match"
    return _out_of_range(check, value)


def _out_of_range(check: FieldCheck, value: Any) -> str:
    if check.min is None and check.max is None:
        return ""
    if kind_of(value) != "number":
        return f"is {_shown(value)}, no number"
    if check.min is not None and value < check.min:
        return f"is {_shown(value)}, below {check.min:g}"
    if check.max is not None and value > check.max:
        return f"is {_shown(value)}, above {check.max:g}"
    return ""


def _equal(expected: Any, value: Any, tolerance: float) -> bool:
    rules = Rules(numbers="exact", strings="exact", abs_tolerance=tolerance)
    return Comparison(rules).compare(expected, value).share >= 1


def _is_of(kind: JsonType, value: Any) -> bool:
    if kind == "integer":
        return kind_of(value) == "number" and (isinstance(value, int) or value.is_integer())
    return kind_of(value) == kind


def _matches(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and compiled(pattern).search(encoded(value)) is not None


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return f"{kind_of(value)} of {len(value)}"
    text = repr(value[:MAX_SHOWN_CHARS] if isinstance(value, str) else value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 1]}…"
