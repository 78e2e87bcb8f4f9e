"""Schemas made ready for data that nobody vouches for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft201909Validator, Draft202012Validator

from tracejury_evaluators.schema_keywords import identity
from tracejury_evaluators.schema_patterns import matches
from tracejury_evaluators.schemas import SchemaProblem, Steps, TooManySteps, compile_schema

DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "an object, true or false"),
        ({"type": "text"}, "is no JSON Schema: $.type"),
        ({"required": 1}, "is no JSON Schema: $.required"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, "references elsewhere are never fetched"),
        ({"properties": {"a": {"$ref": "#/$defs/a"}}}, "'#/$defs/a' is not inside the schema"),
        ({"pattern": "(?=a)"}, "RE2 does not take the pattern '(?=a)'"),
        ({"items": {"pattern": r"(a)\1"}}, "back-references"),
        ({"patternProperties": {"(?<!a)": True}}, "RE2 does not take the pattern '(?<!a)'"),
        ({"maxLength": float("nan")}, "is no JSON Schema"),
        ({"$schema": "urn:own"}, "the dialect 'urn:own' is unknown"),
        ({"$schema": 7}, "the dialect '7' is unknown"),
        ({"enum": ["x" * 200_000]}, "longer than 200000 characters"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema: Any, said: str) -> None:
    with pytest.raises(SchemaProblem, match=r".") as caught:
        compile_schema(schema)
    assert said in str(caught.value)


def test_a_schema_nested_too_deep_is_refused() -> None:
    schema: Any = True
    for _ in range(10_000):
        schema = {"items": schema}
    with pytest.raises(SchemaProblem, match="deeper than 64 levels"):
        compile_schema(schema)


def test_a_property_named_pattern_is_no_pattern() -> None:
    schema = {"properties": {"pattern": {"type": "string"}}, "default": {"pattern": "(?=a)"}}
    assert compile_schema(schema).violations({"pattern": "(?=a)"}) == []


def test_a_schema_may_refer_to_the_dialect_itself() -> None:
    schema = compile_schema({"$ref": DRAFT_7})
    assert [violation.path for violation in schema.violations({"type": 1})] == ["$.type"]


@pytest.mark.parametrize("dialect", [DRAFT_2019, DRAFT_7, None])
def test_a_schema_that_refers_to_itself_keeps_patterns_linear(dialect: str | None) -> None:
    schema: dict[str, Any] = {"pattern": r"\d", "items": {"$ref": "#"}}
    if dialect:
        schema["$schema"] = dialect
    violations = compile_schema(schema).violations([["٣"], ["3"]])
    assert [violation.path for violation in violations] == ["$[0][0]"]


def test_a_pattern_made_to_take_for_ever_takes_no_time() -> None:
    text = "a" * 100_000 + "!"
    for schema in (
        {"pattern": "^(a+)+$"},
        {"additionalProperties": {"pattern": "^(a|a)*$"}},
        {"patternProperties": {"^(a+)+$": True}, "additionalProperties": False},
        {"patternProperties": {"^(a+)+$": True}, "unevaluatedProperties": False},
    ):
        data: Any = text if "pattern" in schema else {text: text}
        assert len(compile_schema(schema).violations(data)) == 1


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^[\u4e00-\u9fa5]+$", "中文", True),
        (r"^\ud83d\ude00$", "😀", True),
        (r"^\u{1F600}$", "😀", True),
        (r"^a\sb$", "a\u00a0b", True),
        (r"^[\s]$", "\u3000", True),
        (r"^\S$", "\u3000", False),
        (r"^\d$", "٣", False),
        (r"^a$", "a\n", False),
        (r"\\u0041", r"\u0041", True),
        ("x", "\ud800x", True),
    ],
)
def test_a_pattern_means_what_ecma_says(pattern: str, text: str, found: bool) -> None:
    assert matches(pattern, text) is found


@pytest.mark.parametrize(
    ("format_name", "right", "wrong"),
    [
        ("date-time", "2024-02-29T23:59:60Z", "2023-02-29T00:00:00Z"),
        ("date-time", "2024-01-01t00:00:00.5+02:00", "2024-01-01 00:00:00Z"),
        ("date-time", "2024-01-01T00:00:00-00:00", "2024-01-01T00:00:00"),
        ("time", "08:30:06Z", "24:00:00Z"),
        ("date", "2024-02-29", "2024-02-30"),
        ("email", "a@b.co", "nope"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("ipv6", "::1", "::g"),
        ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8"),
        ("regex", "^a+$", "(?=a)"),
    ],
)
def test_a_format_asserts_only_where_asked(format_name: str, right: str, wrong: str) -> None:
    schema = {"format": format_name}
    assert compile_schema(schema, formats=True).violations(right) == []
    assert len(compile_schema(schema, formats=True).violations(wrong)) == 1
    assert compile_schema(schema, formats=True).violations(5) == []
    assert compile_schema(schema).violations(wrong) == []


OBJECTS: list[dict[str, Any]] = [{}, {"a": 1}, {"b": "x"}, {"a": 1, "b": "x"}, {"n_a": 1, "c": 2}]
UNEVALUATED: list[dict[str, Any]] = [
    {"properties": {"a": True}},
    {"patternProperties": {"^n_": True}},
    {"allOf": [{"properties": {"a": True}}, {"properties": {"c": True}}]},
    {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": True}}]},
    {"oneOf": [{"required": ["a"], "properties": {"a": True}}, {"required": ["b"]}]},
    {"if": {"required": ["a"]}, "then": {"properties": {"a": True}}, "else": {"properties": {}}},
    {"if": {"required": ["a"], "properties": {"a": True}}, "else": {"properties": {"b": True}}},
    {"dependentSchemas": {"a": {"properties": {"a": True, "b": True}}}},
    {"$ref": "#/$defs/p", "$defs": {"p": {"properties": {"b": True}}}},
    {"properties": {"a": True}, "additionalProperties": {"type": "string"}},
]


@pytest.mark.parametrize("schema", UNEVALUATED, ids=json.dumps)
@pytest.mark.parametrize("left", [False, {"type": "integer"}], ids=json.dumps)
def test_unevaluated_properties_hold_where_the_library_says_so(
    schema: dict[str, Any], left: Any
) -> None:
    closed = schema | {"unevaluatedProperties": left}
    for data in OBJECTS:
        ours = not compile_schema(closed).violations(data)
        assert ours == Draft202012Validator(closed).is_valid(data), data


def test_a_recursive_reference_evaluates_what_it_refers_to() -> None:
    tree = {
        "$schema": DRAFT_2019,
        "$recursiveAnchor": True,
        "properties": {"kids": {"items": {"$recursiveRef": "#"}}},
        "unevaluatedProperties": False,
    }
    trees: list[Any] = [{"kids": [{"kids": []}]}, {"kids": [{"kid": []}]}]
    for data in trees:
        ours = not compile_schema(tree).violations(data)
        assert ours == Draft201909Validator(tree).is_valid(data)


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, True], True),
        ([1, 1.0], False),
        ([0, False, None, "", [], {}], True),
        ([{"a": [1], "b": 2}, {"b": 2, "a": [1.0]}], False),
        ([[1], [True]], True),
        (["a", ["a"]], True),
        ([[], [[]], [[[]]]], True),
        ([-0.0, 0], False),
    ],
)
def test_items_are_unique_where_json_says_so(items: list[Any], unique: bool) -> None:
    schema = {"uniqueItems": True}
    assert (compile_schema(schema).violations(items) == []) is unique
    assert Draft202012Validator(schema).is_valid(items) is unique


def test_uniqueness_of_many_mixed_items_takes_no_time() -> None:
    items: list[Any] = [[number, str(number)] if number % 2 else number for number in range(50_000)]
    assert compile_schema({"uniqueItems": True}).violations(items) == []
    assert len({identity(item) for item in items}) == len(items)


def test_a_violation_names_its_place_and_the_properties_to_blame() -> None:
    schema = compile_schema(
        {
            "required": ["a", "b"],
            "properties": {"c": {"items": {"type": "integer"}}},
            "additionalProperties": False,
            "maxProperties": 1,
        }
    )
    found = schema.violations({"c": [1, "x"], "d": 1})
    assert [(violation.path, violation.properties) for violation in found] == [
        ("$", ("a", "b")),
        ("$", ("a", "b")),
        ("$.c[1]", ("c",)),
        ("$.d", ("d",)),
        ("$", ()),
    ]


def test_a_long_message_is_cut() -> None:
    (violation,) = compile_schema({"type": "integer"}).violations("x" * 10_000)
    assert len(violation.message) == 200


def test_of_very_many_violations_the_first_are_kept() -> None:
    assert len(compile_schema({"items": False}).violations(["x"] * 5_000)) == 1
    assert len(compile_schema({"items": {"type": "null"}}).violations(["x"] * 5_000)) == 1_000


def fan(keyword: str, levels: int) -> dict[str, Any]:
    """A schema that refers twice from each level to the next."""
    defs: dict[str, Any] = {
        f"d{level}": {keyword: [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$defs": {**defs, f"d{levels}": {"type": "string"}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(("keyword", "data"), [("allOf", "a"), ("anyOf", 1), ("oneOf", "a")])
def test_a_schema_whose_references_double_is_given_up(keyword: str, data: Any) -> None:
    schema = compile_schema(fan(keyword, 40))
    with pytest.raises(TooManySteps, match="more than 200000 steps"):
        schema.violations(data)


@pytest.mark.parametrize(
    ("part", "data"),
    [
        ({"type": "integer"}, "x" * 5_000_000),
        (False, "x" * 5_000_000),
        ({"pattern": "a*b"}, "x" * 5_000_000),
        ({"uniqueItems": True}, list(range(100_000))),
        ({"additionalProperties": False}, {str(number): 1 for number in range(100_000)}),
        ({"patternProperties": {"^a": True}}, {str(number): 1 for number in range(100_000)}),
    ],
)
def test_checking_large_data_over_and_over_is_given_up(part: Any, data: Any) -> None:
    schema = compile_schema({"allOf": [{"not": {"not": part}} for _ in range(900)]})
    steps = Steps()
    with pytest.raises(TooManySteps):
        all(schema.violations(data, steps=steps) is not None for _ in range(200))


def test_values_to_compare_with_are_counted_with_their_parts() -> None:
    large = [[*range(20_000)]]
    schema = compile_schema({"items": {"const": large}})
    assert schema.violations([large]) == []
    with pytest.raises(TooManySteps):
        schema.violations([large] * 20)


def test_a_schema_of_very_many_objects_is_refused() -> None:
    with pytest.raises(SchemaProblem, match="more than 4000 objects"):
        compile_schema({"allOf": [{}] * 4_000})


def test_references_to_names_are_found_at_every_place() -> None:
    schema = compile_schema(
        {
            "$id": "http://example.com/root",
            "$defs": {
                "a": {"$anchor": "a", "type": "string"},
                "b": {"$id": "inner", "$defs": {"c": {"$anchor": "c", "type": "integer"}}},
            },
            "properties": {"a": {"$ref": "#a"}, "c": {"$ref": "inner#c"}},
        }
    )
    assert [violation.path for violation in schema.violations({"a": 1, "c": "x"})] == ["$.a", "$.c"]


def test_false_blames_the_property_it_stands_for() -> None:
    found = compile_schema({"properties": {"a": False}}).violations({"a": "x" * 100})
    assert [(one.path, one.properties) for one in found] == [("$.a", ("a",))]
