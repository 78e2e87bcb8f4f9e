"""Modes on JSON data (j), lists (l), numbers (n) and JSON Schemas (s)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tests.helpers.parity import Answer, Case, Mode, first_of, unlike
from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator, run_evaluator
from tracejury.result import Failure, Outcome, Score, Skip
from tracejury.testing import make_trace
from tracejury_evaluators.registry import built_in_registry

BUILD = cache(built_in_registry)
EXACT: Mapping[str, Any] = {
    "threshold": 1,
    "numbers": "exact",
    "strings": "exact",
    "true_is_one": True,
}
ANY_CASE: Mapping[str, Any] = {**EXACT, "case_sensitive": False}
UIPATH: Mapping[str, Any] = {"extra": "free", "abs_tolerance": 1e-12}
LEVELS: Mapping[str, Any] = {
    "weigh": "levels",
    "numbers": "symmetric",
    "unlike": "text",
    "true_is_one": True,
    "null_is_missing": True,
}
JSON_TYPES = {
    "dict": "object",
    "list": "array",
    "str": "string",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "NoneType": "null",
}
WRAPPED = "@wrapped-under-key-v"
EMPTY = "an empty object or list has no leaves there; here it is a leaf, missing or of another kind"
DIGITS = "numbers are read as floats there, so that whole numbers above 2^53 lose digits"
CASE_INSIDE = "case counts inside objects and lists there, whatever the option says"
ASCII_DIGITS = r"`\d` matches any digit there; in JSON Schema patterns it is an ASCII digit"

Judge = Callable[[Case], Outcome]


def passed(outcome: Outcome) -> Answer:
    """Return whether we say pass, as 1 or 0."""
    if isinstance(outcome, Score):
        return float(outcome.verdict == "pass")
    return None if isinstance(outcome, Skip) else "raises"


@cache
def _evaluator(type_name: str, config: str) -> Evaluator[Any]:
    return BUILD().build(type_name, json.loads(config))


def judged_by(type_name: str, config: Mapping[str, Any]) -> Judge:
    """Return what judges a case of JSON: the actual data is the answer, as JSON text."""
    text = json.dumps(config)

    def judge(case: Case) -> Outcome:
        trace = make_trace(output=json.dumps(case["actual"]))
        return run_evaluator(_evaluator(type_name, text), trace, {"expected": case["reference"]})

    return judge


def similar(
    library: str, mode: str, config: Mapping[str, Any], *, kind: str = "j", **more: Any
) -> Mode:
    """Return a mode on data that `json-similarity` offers."""
    judge = judged_by("json-similarity", config)
    ours = f"json-similarity {_yaml(config)}"
    return Mode(library=library, mode=mode, kind=kind, ours=ours, judge=judge, **more)


def left_out(library: str, note: str, *modes: str) -> tuple[Mode, ...]:
    """Return modes on JSON that are not offered, for one reason."""
    return tuple(Mode(library=library, mode=mode, kind="j", note=note) for mode in modes)


def _yaml(config: Mapping[str, Any]) -> str:
    fields = (
        f"{name}: {json.dumps(value) if isinstance(value, bool) else value}"
        for name, value in config.items()
    )
    return f"{{{', '.join(fields)}}}"


def _with_both(case: Case, change: Callable[[Any], Any]) -> Case:
    return {**case, "reference": change(case["reference"]), "actual": change(case["actual"])}


def _as_floats(value: Any) -> Any:
    """Read whole numbers as floats."""
    if isinstance(value, dict):
        return {key: _as_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_floats(item) for item in value]
    return float(value) if type(value) is int else value


def _without_empty(value: Any) -> Any:
    """Leave out the empty objects and lists inside."""
    if isinstance(value, dict):
        items = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in items.items() if item not in ({}, [])}
    return value


def _expecting_leaves(case: Case) -> Case:
    """Expect only what has leaves; data without any expects nothing of the answer."""
    left = _without_empty(case["reference"])
    return {**case, "reference": case["actual"] if left in ({}, []) else left}


def _case_inside(case: Case) -> str:
    """Say of a case whether it passes only because case is left out inside."""
    if isinstance(case["reference"], str) or passed(STRICT(case)) == passed(ANY(case)):
        return ""
    return CASE_INSIDE


STRICT = judged_by("json-similarity", EXACT)
ANY = judged_by("json-similarity", ANY_CASE)


def _uipath() -> tuple[Mode, ...]:
    floats = unlike(STRICT, lambda case: _with_both(case, _as_floats), DIGITS)
    leaves = unlike(judged_by("json-similarity", UIPATH), _expecting_leaves, EMPTY)
    modes: list[Mode] = []
    for end in ("", WRAPPED):
        modes += [
            similar(
                "uipath",
                f"ExactMatch/case_sensitive=true{end}",
                EXACT,
                answer=passed,
                differs=floats,
            ),
            similar(
                "uipath",
                f"ExactMatch/case_sensitive=false{end}",
                ANY_CASE,
                answer=passed,
                differs=first_of(_case_inside, floats),
            ),
            similar("uipath", f"JsonSimilarity{end}", UIPATH, differs=leaves),
        ]
    return tuple(modes)


def _null_expected(case: Case) -> str:
    return "null can be expected here" if case["reference"] is None else ""


def _fields(case: Case) -> Outcome:
    """Judge whether the answer has the reference's fields."""
    reference = case["reference"]
    expected = (
        {f"/{key.replace('~', '~0').replace('/', '~1')}": item for key, item in reference.items()}
        if isinstance(reference, dict)
        else {}
    )
    trace = make_trace(output=json.dumps(case["actual"]))
    return run_evaluator(_evaluator("json-fields", "{}"), trace, {"expected": expected})


def _no_fields(case: Case) -> str:
    reference = case["reference"]
    if reference == {}:
        return "an empty reference passes there; here there is nothing to judge"
    if not isinstance(reference, dict):
        return "a reference that is no object is sought as a part there; here it names no field"
    return ""


def _true_and_one(case: Case) -> str:
    """Say of a case whether a field is as expected only where true is 1."""
    reference, actual = case["reference"], case["actual"]
    if not isinstance(reference, dict) or not isinstance(actual, dict):
        return ""
    same = all(key in actual and actual[key] == item for key, item in reference.items())
    apart = passed(_fields(case)) == 0.0
    return "true is 1 there; here they are different values" if same and apart else ""


def _of_type(case: Case) -> Outcome:
    """Judge whether the answer is of the reference's type."""
    kind = JSON_TYPES[type(case["reference"]).__name__]
    trace = make_trace(output=json.dumps(case["actual"]))
    return run_evaluator(_evaluator("json-schema", "{}"), trace, {"schema": {"type": kind}})


def _other_numbers(case: Case) -> str:
    kinds = type(case["reference"]), type(case["actual"])
    if kinds == (int, float) and float(case["actual"]).is_integer():
        return "1.0 is no int there; in JSON it is the integer 1"
    if kinds == (float, int):
        return "1 is no float there; in JSON it is a number as well"
    if kinds == (int, bool):
        return "true is an int there; in JSON it is none"
    return ""


PYDANTIC = (
    similar("pydantic-evals", "Equals", EXACT, answer=passed),
    similar("pydantic-evals", "EqualsExpected", EXACT, answer=passed, differs=_null_expected),
    *(
        Mode(
            library="pydantic-evals",
            mode=f"Contains/case_sensitive={sensitive}",
            kind="j",
            ours="json-fields {expected: …}",
            judge=_fields,
            answer=passed,
            differs=first_of(_no_fields, _true_and_one),
            note="the fields of an object; case never counts inside one, there as here it is kept",
        )
        for sensitive in ("true", "false")
    ),
    Mode(
        library="pydantic-evals",
        mode="IsInstance/type-of-reference",
        kind="j",
        ours="json-schema {schema: {type: …}}",
        judge=_of_type,
        answer=passed,
        differs=_other_numbers,
        note="JSON types instead of those of Python",
    ),
    *left_out(
        "pydantic-evals",
        "seeks the text that Python prints for a value, where the order of keys counts",
        "Contains/as_strings",
    ),
)


def _text_of(value: Any) -> str:
    """Return the answer as an agent gives it: a text as it is, other data as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _valid(name: str) -> Judge:
    def judge(case: Case) -> Outcome:
        evaluator = _evaluator("valid-json", '{"top": "container"}')
        return run_evaluator(evaluator, make_trace(output=_text_of(case[name])))

    return judge


PAIRED: Mapping[str, Any] = {"lists": "assignment", "numbers": "exact"}
ANY_MORE: Mapping[str, Any] = {**PAIRED, "extra": "free"}
SYMMETRIC: Mapping[str, Any] = {"numbers": "symmetric", "true_is_one": True}


def _as_texts(value: list[Any]) -> list[Any]:
    return [item if isinstance(item, str) else json.dumps(item) for item in value]


def _texts(config: Mapping[str, Any]) -> Callable[[Case], str]:
    """Say of a case of lists whether its numbers are alike only as texts."""
    judge = judged_by("json-similarity", config)
    reason = "every item is compared as a text there; here 1 and its text are different"
    return unlike(judge, lambda case: _with_both(case, _as_texts), reason)


def _nothing_expected(case: Case) -> str:
    if case["reference"] == [] and case["actual"]:
        return "an empty reference is in no other list there; here more is free, whatever it is"
    return ""


def _overflow(case: Case) -> str:
    """Say of a case of numbers whether their sum is past the range of floats."""
    total = abs(float(case["reference"])) + abs(float(case["actual"]))
    return "the sum overflows there, and there is no answer" if math.isinf(total) else ""


LISTS_AND_NUMBERS = (
    similar("autoevals", "ListContains", PAIRED, kind="l", differs=_texts(PAIRED)),
    similar(
        "autoevals",
        "ListContains/allow_extra_entities",
        ANY_MORE,
        kind="l",
        differs=first_of(_nothing_expected, _texts(ANY_MORE)),
    ),
    similar("autoevals", "NumericDiff", SYMMETRIC, kind="n", differs=_overflow),
)

AUTOEVALS = (
    similar("autoevals", "JSONDiff", {**LEVELS, "json_strings": True}),
    similar("autoevals", "JSONDiff/preserve_strings", LEVELS),
    Mode(
        library="autoevals",
        mode="ValidJSON(actual)",
        kind="j",
        ours="valid-json {top: container}",
        judge=_valid("actual"),
    ),
    *left_out(
        "autoevals",
        "compares JSON as text, so that the order of keys counts and 1 is not 1.0",
        "ExactMatch",
    ),
)


def _usable(case: Case) -> Outcome:
    """Judge whether the schema can be used."""
    try:
        BUILD().build("json-schema", {"schema": case["schema"]})
    except DefinitionError as error:
        return Score(0.0, "fail", str(error))
    return Score(1.0, "pass", "the schema can be used")


def conforming(write: Callable[[Any], str], **config: Any) -> Judge:
    """Return what judges an instance, written as an answer, against its schema."""

    def judge(case: Case) -> Outcome:
        try:
            evaluator = BUILD().build("json-schema", {**config, "schema": case["schema"]})
        except DefinitionError as error:
            return Failure("DefinitionError", str(error))
        return run_evaluator(evaluator, make_trace(output=write(case["instance"])))

    return judge


def _ascii_digits(case: Case) -> str:
    """Say of a case whether a pattern meets digits that are not ASCII."""
    instance = case["instance"]
    if r"\d" not in json.dumps(case["schema"]).replace("\\\\", "\\") or not isinstance(
        instance, str
    ):
        return ""
    return ASCII_DIGITS if any(c.isdigit() and not c.isascii() for c in instance) else ""


def _schema(library: str, mode: str, ours: str, judge: Judge, **more: Any) -> Mode:
    return Mode(library=library, mode=mode, kind="s", ours=ours, judge=judge, **more)


SCHEMAS = (
    _schema("jsonschema", "check_schema", "json-schema", _usable, note="when it is configured"),
    _schema(
        "jsonschema",
        "validate",
        "json-schema",
        conforming(json.dumps),
        answer=passed,
        differs=_ascii_digits,
    ),
    _schema(
        "jsonschema",
        "validate+format_checker",
        "json-schema {formats: true}",
        conforming(json.dumps, formats=True),
        answer=passed,
        differs=_ascii_digits,
    ),
    _schema(
        "autoevals",
        "ValidJSON(schema=…)/constructor",
        "valid-json {top: container}",
        _valid("instance"),
        note="a schema given so has no effect there",
    ),
    _schema(
        "autoevals",
        "ValidJSON/schema-passed-as-expected",
        "json-schema",
        conforming(_text_of),
        answer=passed,
    ),
)

MODES: tuple[Mode, ...] = (
    *_uipath(),
    *PYDANTIC,
    *AUTOEVALS,
    *LISTS_AND_NUMBERS,
    *SCHEMAS,
)
