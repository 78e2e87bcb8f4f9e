"""Answers as data: reading, comparing, pairing and finding places; input that is made to hurt."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.result import Score, Skip
from tracejury.testing import make_trace
from tracejury_evaluators.json_text import depth, parse, unfenced
from tracejury_evaluators.registry import built_in_registry
from tracejury_evaluators.structure.assignment import best_pairs
from tracejury_evaluators.structure.compare import Comparison, Rules, leaves
from tracejury_evaluators.structure.paths import find, read_path

REGISTRY = built_in_registry()
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
RULES = st.builds(
    Rules,
    weigh=st.sampled_from(["leaves", "levels"]),
    extra=st.sampled_from(["counted", "free"]),
    lists=st.sampled_from(["position", "assignment"]),
    numbers=st.sampled_from(["relative", "symmetric", "exact"]),
    strings=st.sampled_from(["levenshtein", "exact"]),
    true_is_one=st.booleans(),
    null_is_missing=st.booleans(),
    json_strings=st.booleans(),
    unlike=st.sampled_from(["zero", "text"]),
)
TYPES = ("valid-json", "json-schema", "json-similarity", "json-fields")
CONFIGS: dict[str, dict[str, Any]] = {
    "valid-json": {"code_fence": True, "unique_keys": True},
    "json-schema": {"schema": {"items": {"$ref": "#"}, "uniqueItems": True}, "code_fence": True},
    "json-similarity": {"expected": {"a": [[1]]}, "code_fence": True, "lists": "assignment"},
    "json-fields": {"expected": {"a[*]": 1}, "code_fence": True},
}


@given(value=JSON, rules=RULES)
def test_data_is_like_itself(value: Any, rules: Rules) -> None:
    comparison = Comparison(rules)
    assert comparison.compare(value, json.loads(json.dumps(value))).share == pytest.approx(1)
    assert comparison.misses == []


@given(expected=JSON, actual=JSON, rules=RULES)
def test_a_similarity_is_between_nothing_and_all(expected: Any, actual: Any, rules: Rules) -> None:
    assert -1e-9 <= Comparison(rules).compare(expected, actual).share <= 1 + 1e-9


@given(expected=JSON, actual=JSON)
def test_exact_data_is_equal_where_nothing_is_missed(expected: Any, actual: Any) -> None:
    comparison = Comparison(Rules(numbers="exact", strings="exact"))
    assert (comparison.compare(expected, actual).share == 1) == (comparison.misses == [])


@given(value=JSON)
def test_leaves_are_the_values_without_parts(value: Any) -> None:
    def count(item: Any) -> int:
        inner = list(item.values()) if isinstance(item, dict) else item
        return sum(map(count, inner)) if isinstance(item, (dict, list)) and item else 1

    assert leaves(value) == count(value)


@given(
    st.integers(0, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=columns, max_size=columns),
            max_size=4,
        ).map(lambda rows: (rows, columns))
    )
)
def test_pairs_are_the_best_of_all(matrix: tuple[list[list[float]], int]) -> None:
    shares, columns = matrix
    partners = best_pairs(shares, columns)
    used = [partner for partner in partners if partner is not None]
    assert len(used) == len(set(used)) == min(len(shares), columns)
    total = sum(shares[row][one] for row, one in enumerate(partners) if one is not None)
    slots = [*range(columns), *[None] * len(shares)]
    best = max(
        sum(shares[row][one] for row, one in enumerate(chosen) if one is not None)
        for chosen in itertools.permutations(slots, len(shares))
    )
    assert total == pytest.approx(best)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [{"a": [{"b": 1}, {"b": 2}], "": 3, "x y": 4, "0": 5}]),
        ("$.a[0].b", [1]),
        ("a[-1].b", [2]),
        ("$.a[*].b", [1, 2]),
        ("$.a.*.b", [1, 2]),
        ("/a/1/b", [2]),
        ("/", [3]),
        ("$['x y']", [4]),
        ('["x y"]', [4]),
        ("$.0", [5]),
        ("/0", [5]),
        ("/a/01/b", []),
        ("/a/-1/b", []),
        ("/a/9/b", []),
        ("$.a.b", []),
        ("$.a[0].b.c", []),
        ("$.a[99999999]", []),
    ],
)
def test_a_path_leads_to_its_values(path: str, found: list[Any]) -> None:
    data = {"a": [{"b": 1}, {"b": 2}], "": 3, "x y": 4, "0": 5}
    assert find(data, read_path(path)) == found


@pytest.mark.parametrize("path", ["$.", "$a b", "a..b", "$[", "$[x]", "$['a", "a[1:2]", "$[?(@)]"])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="cannot be read from"):
        read_path(path)


def test_a_config_names_the_field_whose_path_cannot_be_read() -> None:
    with pytest.raises(DefinitionError, match=r"config\.fields\.0\.path: the path"):
        REGISTRY.build("json-fields", {"fields": [{"path": "a..b"}]})


def test_a_null_that_a_field_must_have_outlives_being_written() -> None:
    built = REGISTRY.build("json-fields", {"fields": [{"path": "a", "equals": None}]})
    other = REGISTRY.build("json-fields", {"fields": [{"path": "a"}]})
    again = type(built).model_validate(built.model_dump(mode="json", by_alias=True))
    trace = make_trace(output='{"a": 1}')
    outcomes = [run_evaluator(evaluator, trace) for evaluator in (built, again, other)]
    assert [isinstance(one, Score) and one.verdict for one in outcomes] == ["fail", "fail", "pass"]
    assert built.fingerprint() == again.fingerprint() != other.fingerprint()


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "9" * 100_000,
        "```\n" * 100_000,
        "~~~json\n" + "`" * 100_000,
        '{"' + "k" * 1_000_000 + '": 1}',
        '"' + "\\ud800" * 10_000 + '"',
        "\x00",
        "[1e999, -1e999]",
    ],
    ids=["open", "nested", "objects", "digits", "fences", "ticks", "key", "halves", "nul", "huge"],
)
def test_an_answer_made_to_hurt_is_judged(type_name: str, text: str) -> None:
    outcome = run_evaluator(REGISTRY.build(type_name, CONFIGS[type_name]), make_trace(output=text))
    assert isinstance(outcome, Score)


def test_ten_megabytes_of_json_are_judged_or_skipped() -> None:
    rows = [{"id": number, "tags": ["a", "b"], "name": "x" * 200} for number in range(40_000)]
    trace = make_trace(output=json.dumps({"rows": rows}))
    schema = {"properties": {"rows": {"items": {"required": ["id"]}}}}
    built = {
        "valid-json": REGISTRY.build("valid-json", {"unique_keys": True}),
        "json-schema": REGISTRY.build("json-schema", {"schema": schema}),
        "json-fields": REGISTRY.build("json-fields", {"expected": {"rows[5].id": 5}}),
        "json-similarity": REGISTRY.build("json-similarity", {"expected": {"rows": rows[:10]}}),
    }
    outcomes = {name: run_evaluator(evaluator, trace) for name, evaluator in built.items()}
    similar = outcomes.pop("json-similarity")
    assert all(isinstance(one, Score) and one.verdict == "pass" for one in outcomes.values())
    assert isinstance(similar, Score)
    assert similar.value < 0.001
    twice = REGISTRY.build("json-similarity", {"expected": {"rows": rows}})
    assert isinstance(run_evaluator(twice, trace), Skip)


def test_lists_of_lists_by_assignment_stop_at_the_limit() -> None:
    data: Any = 1
    for _ in range(6):
        data = [data] * 20 if depth(data) < 2 else [data] * 5
    evaluator = REGISTRY.build("json-similarity", {"lists": "assignment"})
    trace = make_trace(output=json.dumps(data))
    outcome = run_evaluator(evaluator, trace, {"expected": data})
    assert isinstance(outcome, Skip)
    assert "comparisons" in outcome.reason


def test_long_texts_are_equal_or_not() -> None:
    evaluator = REGISTRY.build("json-similarity", {"expected": "a" * 2_000_000})
    near = run_evaluator(evaluator, make_trace(output=json.dumps("a" * 1_999_999)))
    same = run_evaluator(evaluator, make_trace(output=json.dumps("a" * 2_000_000)))
    assert isinstance(near, Score)
    assert isinstance(same, Score)
    assert (near.value, same.value) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("{}", "{}"),
        ("```json\n{}\n```", "{}\n"),
        ("~~~\n{}\n~~~", "{}\n"),
        ("a\n```JSON\n1\n```\nb\n```json\n2\n```", "1\n"),
        ("````json\n```\n````", "```\n"),
        ("```json\r\n{}\r\n```\r\n", "{}\r\n"),
        ("```yaml\na: 1\n```", "```yaml\na: 1\n```"),
        ("```yaml\n```json\n```\n```json\n1\n```", "1\n"),
        ("  ```json\n  1\n  ```", "  1\n"),
        ("```json {}```", "```json {}```"),
    ],
)
def test_what_stands_in_a_code_fence(text: str, inside: str) -> None:
    assert unfenced(text) == inside


@given(JSON)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    assert parse(json.dumps(value)) == value
