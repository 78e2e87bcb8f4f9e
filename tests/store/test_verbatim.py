"""Texts that stand in an attribute are kept there alone, and read as if they stood in a column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.otlp import encoded, make_span, request_of
from tracejury_collector.config import Limits, StorageSettings
from tracejury_collector.receive.otlp import decode
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database

LONG = 'The quick brown fox jumps over the lazy dog, "quoted", \\ back, \u2028 é 中 🦊. ' * 3
READ = "SELECT input, output, tool_arguments, tool_result FROM spans"
KEPT = "SELECT input, output, tool_arguments, tool_result FROM base.spans"

Row = tuple[str | None, ...]


def stored(tmp_path: Path, attributes: dict[str, str]) -> tuple[Row, Row]:
    """Return what the view gives of a span with these attributes, and what the table keeps."""
    span = make_span(1)
    for key, text in attributes.items():
        span.attributes.add(key=key).value.string_value = text
    table = decode("traces", "protobuf", encoded(request_of(span), "protobuf"), Limits()).table
    assert table is not None
    db = Database.open(str(tmp_path / "t.duckdb"), StorageSettings())
    try:
        Appender(db).append("spans", table, 0).result(20)
        with db.read() as cursor:
            (read,) = cursor.execute(READ).fetchall()
            (kept,) = cursor.execute(KEPT).fetchall()
        return read, kept
    finally:
        db.close()


def test_a_long_text_is_read_from_its_attribute(tmp_path: Path) -> None:
    read, kept = stored(tmp_path, {"input.value": LONG, "output.value": LONG + "!"})
    assert read[:2] == (LONG, LONG + "!")
    assert kept == (None, None, None, None)


def test_arguments_and_result_of_a_tool_are_read_from_their_attributes(tmp_path: Path) -> None:
    arguments, result = '{"city": "' + LONG[:40] * 3 + '"}', LONG
    read, kept = stored(
        tmp_path,
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.arguments": arguments,
            "gen_ai.tool.call.result": result,
        },
    )
    assert read[2:] == (arguments, result)
    assert kept[2:] == (None, None)


def test_a_short_text_stands_in_its_column(tmp_path: Path) -> None:
    read, kept = stored(tmp_path, {"input.value": "hello"})
    assert read[0] == kept[0] == "hello"


def test_a_text_may_hold_any_character(tmp_path: Path) -> None:
    text = LONG + "\x00\x01\x7f\ufeff" + LONG
    read, _ = stored(tmp_path, {"input.value": text})
    assert read[0] == text


@pytest.mark.parametrize("key", ['a"b', "a\\b", "a.b[0]", "a b", "*", "é", "$", "a'b", "#", "?"])
def test_an_attribute_may_have_any_name(tmp_path: Path, key: str) -> None:
    read, _ = stored(tmp_path, {key: LONG, "input.value": LONG})
    assert read[0] == LONG
