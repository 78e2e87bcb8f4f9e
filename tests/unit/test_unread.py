"""What looks like GenAI content and is read by no rule is counted, bounded, and shown safely."""

from __future__ import annotations

from typing import Any

import pytest

from tracejury.dialects.active import MAX_UNREAD, Tables
from tracejury.dialects.custom import parse_dialect
from tracejury.dialects.tables import BUILT_IN
from tracejury.dialects.unread import (
    MAX_EXAMPLE_CHARS,
    MAX_LABEL_CHARS,
    excerpt,
    is_read_now,
    label,
)


def count(tables: Tables, scope: str, attributes: dict[str, Any], *events: str) -> None:
    tables.count_unread(tables.plan(scope, {}, attributes, events), attributes)


def test_attributes_and_events_are_counted_by_scope_with_an_example() -> None:
    tables = Tables(BUILT_IN)
    for question in ("first?", "second?"):
        attributes = {"nova.agent.question": question, "nova.host": "a", "http.method": "GET"}
        count(tables, "nova", attributes, "nova.tool.started", "exception")
    count(tables, "other", {"nova.agent.question": "x"})
    assert sorted(tables.take_unread()) == [
        ("nova", "event nova.tool.started", 2, ""),
        ("nova", "nova.agent.question", 2, "first?"),
        ("other", "nova.agent.question", 1, "x"),
    ]
    assert tables.take_unread() == []


def test_a_flattened_list_is_counted_once() -> None:
    tables = Tables(BUILT_IN)
    count(tables, "nova", {f"nova.chat.{n}.text": "hi" for n in range(9)})
    assert tables.take_unread() == [("nova", "nova.chat.N.text", 1, "hi")]


def test_events_of_logs_are_counted_when_no_rule_reads_them() -> None:
    tables = Tables(BUILT_IN)
    for name in ("nova.agent.said", "nova.agent.said", "gen_ai.user.message", "", "device.app"):
        tables.count_event("nova", name, {"text": "hi"})
    assert tables.take_unread() == [("nova", "event nova.agent.said", 2, '{"text":"hi"}')]


def test_no_more_places_are_kept_than_the_limit() -> None:
    tables = Tables(BUILT_IN)
    for n in range(MAX_UNREAD + 50):
        count(tables, f"scope {n}", {"nova.prompt": "x"})
    taken = tables.take_unread()
    assert len(taken) == MAX_UNREAD + 1
    assert ("other", "other", 50, "") in taken


def test_names_and_examples_of_any_length_are_cut() -> None:
    tables = Tables(BUILT_IN)
    count(tables, "s" * 9999, {"nova.prompt." + "k" * 9999: "v" * 9999})
    ((scope, key, _, example),) = tables.take_unread()
    assert (len(scope), len(key)) == (MAX_LABEL_CHARS, MAX_LABEL_CHARS)
    assert example == "v" * MAX_EXAMPLE_CHARS


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("gen_ai.prompt", "gen_ai.prompt"),
        ("<script>alert(1)</script>", "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("=cmd|' /C calc'!A0", "\\u003dcmd|' /C calc'!A0"),
        ("@SUM(A1)", "\\u0040SUM(A1)"),
        ("a=b", "a=b"),
        ("line\r\nnext\tcell", "line\\u000d\\u000anext\\u0009cell"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_others_sent_is_shown_so_that_it_does_nothing(sent: str, shown: str) -> None:
    assert label(sent) == excerpt(sent) == shown


def test_what_a_rule_reads_by_now_is_known() -> None:
    before = Tables(BUILT_IN).index
    data = {
        "name": "nova",
        "prefixes": ["nova."],
        "rules": [
            {"field": "input", "flat": "nova.chat"},
            {"field": "input", "attr": "nova.prompt"},
        ],
        "event_kinds": [{"event": "nova.tool.started", "kind": "tool"}],
        "known": ["nova.debug."],
    }
    after = Tables([parse_dialect(data).dialect, *BUILT_IN]).index
    for key in ("nova.chat.N.text", "nova.prompt", "event nova.tool.started", "nova.debug.prompt"):
        assert (is_read_now(before, key), is_read_now(after, key)) == (False, True), key
    assert not is_read_now(after, "nova.answer")
