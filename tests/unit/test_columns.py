"""Whatever a trace holds becomes rows that DuckDB takes."""

from __future__ import annotations

import json

import duckdb
import pytest

from tracejury_collector.store.columns import (
    BIGINT,
    JSON,
    TEXT,
    TEXTS,
    TIME,
    arrow_table,
    json_text,
    time_or_null,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, "ü", None]}, '{"a":[1,"ü",null]}'),
        (float("nan"), "null"),
        ({"n": 2**70}, '{"n": 1180591620717411303424}'),
        ({1: "x"}, '{"1":"x"}'),
        ({"x": float("inf"), "n": 2**70}, '{"x": null, "n": 1180591620717411303424}'),
    ],
)
def test_every_value_becomes_json(value: object, text: str) -> None:
    assert json_text(value) == text


def test_lone_surrogates_and_deep_nesting_become_json() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("\ud800", {"\ud800": 1}, deep, {"f": object()}):
        assert json.loads(json_text(value) or "") is not None


def test_columns_take_what_does_not_fit() -> None:
    columns = {"t": TEXT, "l": TEXTS, "n": BIGINT, "at": TIME, "j": JSON}
    table = arrow_table(
        columns,
        [("\ud800x", ["\ud800"], 2**70, time_or_null(2**70), '"\ud800"'), (None,) * 5],
    )
    found = duckdb.connect().from_arrow(table).fetchall()
    assert found[0][:3] == ("?x", ["?"], 2**63 - 1)
    assert table.num_rows == len(found) == 2


def test_no_time_is_null() -> None:
    assert time_or_null(0) is None
    assert time_or_null(-5) is None
