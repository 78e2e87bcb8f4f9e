"""Outcomes: what they accept, and their JSON form."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.bounds import MAX_DETAILS_BYTES, bounded, clip, clip_start, plain_details
from tracejury.result import (
    MOST_SPENT,
    Failure,
    Outcome,
    Score,
    Skip,
    Spent,
    Verdict,
    default_verdict,
    outcome_from_json,
    outcome_to_json,
)

TEXT = st.text(max_size=20)
TEXTS = st.lists(TEXT, max_size=4)
DETAILS = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | TEXT, max_size=4)
SCORES = st.builds(
    Score,
    value=st.floats(0, 1),
    verdict=st.none() | st.sampled_from(["pass", "partial", "fail"]),
    reason=TEXT,
    hits=TEXTS,
    misses=TEXTS,
    details=DETAILS,
    evidence=TEXTS,
)
SKIPS = st.builds(Skip, reason=TEXT.filter(str.strip), details=DETAILS)
FAILURES = st.builds(Failure, error_type=TEXT, message=TEXT, traceback=TEXT)


@given(SCORES | SKIPS | FAILURES)
def test_an_outcome_survives_its_json_form(outcome: Outcome) -> None:
    text = json.dumps(outcome_to_json(outcome), allow_nan=False)
    assert outcome_from_json(json.loads(text)) == outcome


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.01, 1.01, 10**400])
def test_a_value_outside_the_unit_interval_is_refused(value: float) -> None:
    with pytest.raises((ValueError, OverflowError)):
        Score(value)


@pytest.mark.parametrize("value", ["0.5", b"1", None, [], {}])
def test_a_value_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="a score is a number"):
        Score(value)


def test_other_numbers_are_taken_as_floats() -> None:
    values: list[Any] = [True, 1, Decimal("0.5")]
    assert [Score(value).value for value in values] == [1.0, 1.0, 0.5]
    assert all(type(Score(value).value) is float for value in values)


def test_a_rounding_error_is_no_error() -> None:
    assert Score(1 + 1e-12).value == 1.0
    assert Score(-1e-12).value == 0.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"verdict": "ok"}, r"verdict 'ok' is unknown; use one of \['pass', 'partial', 'fail'\]"),
        ({"reason": None}, "reason is a text, not None"),
        ({"hits": "one"}, "hits is a list of texts, not 'one'"),
        ({"misses": [1]}, "each of misses is a text, not 1"),
        ({"evidence": {"a": 1}}, "evidence is a list of texts"),
        ({"details": [1]}, "details is a mapping"),
    ],
)
def test_a_score_with_a_wrong_field_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Score(0.5, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"usd": math.nan}, "usd is a number from 0 on, not nan"),
        ({"usd": -0.01}, "usd is a number from 0 on"),
        ({"usd": math.inf}, "usd is a number from 0 on"),
        ({"usd": True}, "usd is a number from 0 on"),
        ({"usd": "1"}, "usd is a number from 0 on, not '1'"),
        ({"input_tokens": -1}, "input_tokens is a whole number from 0 on"),
        ({"output_tokens": 1.5}, "output_tokens is a whole number from 0 on"),
    ],
)
def test_what_is_no_amount_cannot_be_spent(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Spent(**fields)
    with pytest.raises(ValueError, match=message):
        outcome_from_json({"outcome": "score", "value": 1.0, "spent": fields})


def test_what_is_spent_fits_into_the_database_and_can_be_added() -> None:
    most = Spent(usd=1e300, input_tokens=10**400, output_tokens=0)
    assert most == Spent(usd=MOST_SPENT, input_tokens=MOST_SPENT, output_tokens=0)


def test_a_skip_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="a skip needs a reason"):
        Skip("  ")


@pytest.mark.parametrize(
    ("value", "threshold", "verdict"),
    [
        (1.0, 1.0, "pass"),
        (0.999, 1.0, "partial"),
        (0.0, 1.0, "fail"),
        (0.8, 0.8, "pass"),
        (0.79, 0.8, "partial"),
        (0.0, 0.0, "pass"),
    ],
)
def test_a_verdict_follows_from_value_and_threshold(
    value: float, threshold: float, verdict: Verdict
) -> None:
    assert default_verdict(value, threshold) == verdict


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "an outcome is an object"),
        ({}, "outcome None is unknown"),
        ({"outcome": ["score"]}, "outcome a value of type list is unknown"),
        ({"outcome": "maybe"}, "outcome 'maybe' is unknown; use one of"),
        ({"outcome": "score"}, "this is no score: .*'value'"),
        ({"outcome": "score", "value": 1, "grade": "A"}, "this is no score: .*'grade'"),
        ({"outcome": "score", "value": 2.0}, "a score is a finite number"),
        ({"outcome": "skip", "reason": 5}, "this is no skip: reason is a text"),
        ({"outcome": "failure", "message": "x"}, "this is no failure: .*'error_type'"),
    ],
)
def test_data_that_is_no_outcome_is_refused(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        outcome_from_json(data)


def test_long_texts_and_lists_are_cut() -> None:
    outcome = bounded(Score(1.0, reason="r" * 10_000, hits=["h" * 5_000] * 1_000))
    assert isinstance(outcome, Score)
    assert len(outcome.reason) == 4_000
    assert len(outcome.hits) == 100
    assert outcome.hits[-1] == "… and 901 more"
    assert all(len(hit) <= 500 for hit in outcome.hits)


def test_the_largest_outcome_stays_under_a_mebibyte() -> None:
    worst = "\x00" * 10_000
    outcome = bounded(
        Score(
            1.0, None, worst, [worst] * 1_000, [worst] * 1_000, {"a": "b" * 60_000}, [worst] * 999
        )
    )
    assert len(json.dumps(outcome_to_json(outcome), ensure_ascii=False)) < 1 << 20


def test_details_become_plain_json() -> None:
    details: dict[Any, Any] = {"set": {1}, "nan": math.nan, "bytes": b"\xff", 1: (2, 3)}
    details["decimal"] = Decimal("1.5")
    expected = {"set": [1], "nan": "NaN", "bytes": "_w==", "1": [2, 3], "decimal": "1.5"}
    assert plain_details(details) == expected


def test_details_of_an_unknown_type_become_its_text() -> None:
    class Thing:
        def __str__(self) -> str:
            return "thing"

    assert plain_details({"a": Thing()}) == {"a": "thing"}


def test_a_lone_surrogate_is_replaced_and_its_neighbors_stay() -> None:
    assert plain_details({"a": ["x\ud83c"], "b": math.inf}) == {"a": ["x?"], "b": "Infinity"}
    assert clip("x\ud83c", 10) == "x?"


def test_details_that_cannot_be_kept_are_dropped_with_a_note() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    for details in (circle, {"deep": deep}, {"large": "x" * MAX_DETAILS_BYTES}):
        kept = plain_details(details)
        assert list(kept) == ["dropped"]
        assert len(kept["dropped"]) < 600


@given(st.text(alphabet=st.characters(), max_size=30), st.integers(1, 10))
def test_a_clipped_text_is_short_and_valid(text: str, limit: int) -> None:
    for cut in (clip(text, limit), clip_start(text, limit)):
        assert len(cut) <= limit
        cut.encode("utf-8")
