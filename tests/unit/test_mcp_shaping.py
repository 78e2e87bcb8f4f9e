"""Answers for assistants are bounded, complete over their pages, and hide nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracejury.mcp import shaping

TEXTS = st.text(max_size=300) | st.sampled_from(["\\" * 300, '"' * 300, "\x00" * 300, "\ud800"])
DATA: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=50), inner, max_size=8)
    ),
    max_leaves=25,
)
ROOM = 1_000


@settings(max_examples=60, deadline=None)
@given(DATA)
def test_an_answer_is_json_and_never_larger_than_its_room(data: Any) -> None:
    text = shaping.fitted(data, ROOM)
    assert len(text) <= ROOM
    json.loads(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(DATA, max_size=20))
def test_pages_hold_every_item_once_and_are_bounded(items: list[Any]) -> None:
    offset: int | None = 0
    count = 0
    while offset is not None:
        shown, after = shaping.page(items, offset, ROOM)
        assert len(shaping.as_json(shown)) <= ROOM + 3
        assert after is None or after == offset + len(shown) > offset
        offset, count = after, count + len(shown)
    assert count == len(items)


@settings(max_examples=60, deadline=None)
@given(TEXTS | st.text(min_size=200, max_size=2_000))
def test_excerpts_hold_the_whole_text(text: str) -> None:
    offset: int | None = 0
    parts = []
    while offset is not None:
        part, offset = shaping.excerpt(text, offset, 100)
        assert len(shaping.as_json(part)) <= 100
        parts.append(part)
    assert "".join(parts) == text


def test_what_is_cut_says_how_much_is_missing() -> None:
    assert shaping.cut({"a": "x" * 30, "b": [1] * 12}, 10) == {
        "a": "x" * 10 + " [… 20 more characters …]",
        "b": [*[1] * 10, "[… 2 more …]"],
    }
    wide = {str(number): number for number in range(12)}
    assert shaping.cut(wide, 10)["…"] == "2 more"
    assert "[… deeper …]" in shaping.fitted(nested(60))


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else "end"


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\x85", "\u00ad", "\ufe0f"]
)
def test_what_a_model_reads_and_nobody_sees_is_escaped(hidden: str) -> None:
    text = shaping.as_json({f"key{hidden}": [f"a{hidden}b"]})
    assert hidden not in text
    assert json.loads(text) == {f"key{hidden}": [f"a{hidden}b"]}


def test_the_marks_around_data_cannot_be_foreseen() -> None:
    marks = {re.findall(r"</?(tracejury-data-\w+)>", shaping.fenced("x"))[0] for _ in range(20)}
    assert len(marks) == 20


def test_what_says_nothing_is_left_out() -> None:
    said = {"a": None, "b": "", "c": [], "d": {"e": None}, "f": 0, "g": False, "h": [None, 1]}
    assert shaping.present(said) == {"f": 0, "g": False, "h": [None, 1]}
