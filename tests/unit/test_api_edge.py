"""The edges of the API that need no database: times, cursors, media types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.view import rfc3339
from tracejury_collector.api.accept import preferred
from tracejury_collector.api.cursors import decode_cursor, encode_cursor
from tracejury_collector.api.times import parse_time
from tracejury_collector.errors import MalformedRequest

NOW_NS = 1_790_000_000_000_000_000
HOUR_NS = 3_600_000_000_000


@pytest.mark.parametrize(
    ("text", "ago_ns"), [("90s", 90_000_000_000), ("1h", HOUR_NS), ("2d", 48 * HOUR_NS)]
)
def test_a_relative_time_counts_back_from_now(text: str, ago_ns: int) -> None:
    assert parse_time(text, "since", NOW_NS) == NOW_NS - ago_ns


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T01:00:01+01:00", 1_000_000_000),
        ("1970-01-01T01:00:01 01:00", 1_000_000_000),
        ("1970-01-01T00:00:01", 1_000_000_000),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:00.123456789Z", 123_456_789),
        ("1969-12-31T23:59:59.5Z", -500_000_000),
    ],
)
def test_an_rfc_3339_time_keeps_its_nanoseconds(text: str, ns: int) -> None:
    assert parse_time(text, "since", NOW_NS) == ns


@pytest.mark.parametrize(
    "text", ["", "yesterday", "1y", "2026-13-01T00:00:00Z", "9999-01-01", "٣h"]
)
def test_what_is_no_time_is_refused_with_the_field_and_an_example(text: str) -> None:
    with pytest.raises(MalformedRequest, match=r"since: .* write it like"):
        parse_time(text, "since", NOW_NS)


@given(st.integers(min_value=1, max_value=(1 << 63) - 1))
def test_a_time_written_by_the_api_is_read_back_exactly(ns: int) -> None:
    assert parse_time(rfc3339(ns) or "", "since", NOW_NS) == ns


@given(st.integers(0, (1 << 63) - 1), st.text(max_size=50))
def test_a_cursor_gives_back_its_position(number: int, text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    assert decode_cursor(encode_cursor(number, text), (int, str)) == (number, text)


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "äöü", "%%%%", encode_cursor("text"), encode_cursor(1, 2), encode_cursor(-1)],
)
def test_a_cursor_that_no_page_gave_is_refused(cursor: str) -> None:
    with pytest.raises(MalformedRequest, match="next_cursor"):
        decode_cursor(cursor, (int,))


@given(st.text(max_size=60))
def test_no_text_breaks_the_cursor(cursor: str) -> None:
    try:
        decode_cursor(cursor, (int, str, str))
    except MalformedRequest:
        return
    pytest.fail(f"{cursor!r} was taken")


OFFERED = ("application/json", "text/csv", "application/vnd.apache.arrow.stream")


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/csv", "text/csv"),
        ("text/*;q=0.5, application/json;q=0.4", "text/csv"),
        ("text/csv;q=0.2, application/vnd.apache.arrow.stream", OFFERED[2]),
        ("application/json;q=0, text/csv", "text/csv"),
        ("image/png", None),
        ("text/csv;q=nan", None),
        ("*/*, application/json;q=0", "text/csv"),
    ],
)
def test_the_media_type_asked_for_most_is_chosen(accept: str, chosen: str | None) -> None:
    assert preferred(accept, OFFERED) == chosen
