"""What a message says is kept once, and read whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import Bench, bench, root, trace_id
from tracejury_collector.store.renormalizations import load_revisions, stored_rows

TEXT = 'She said "no",\nthen left: \\ \u0000 \U0001f642 </script>'
CASES: dict[str, list[dict[str, Any]]] = {
    "one text": [{"type": "text", "text": TEXT}],
    "two texts": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
    "reasoning alone": [{"type": "reasoning", "text": "think"}],
    "reasoning and a text": [
        {"type": "reasoning", "text": "think"},
        {"type": "text", "text": "said"},
    ],
    "a call": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": 1}}],
    "an empty text": [{"type": "text", "text": ""}],
    "nothing": [],
}
ANSWER = [{"type": "text", "content": "ok"}]
STORED = "SELECT parts, text FROM base.messages WHERE role = 'user'"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("parts")) as built:
        for number, parts in enumerate(CASES.values(), start=1):
            built.spans(_call(number, parts))
        built.after(10)
        yield built


def _call(number: int, parts: list[dict[str, Any]]) -> dict[str, Any]:
    sent = [{("content" if k == "text" else k): v for k, v in part.items()} for part in parts]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": sent}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": ANSWER}]),
    }
    return root(trace=number, attributes=json.dumps(attributes))


@pytest.mark.parametrize(("number", "name"), [*enumerate(CASES, start=1)])
def test_the_view_gives_all_parts(store: Bench, number: int, name: str) -> None:
    found = store.rows(
        f"SELECT parts, text FROM messages WHERE trace_id = '{trace_id(number)}' AND role = 'user'"
    )
    shown = [json.loads(parts) for parts, _ in found]
    texts = [part["text"] for part in CASES[name] if part["type"] == "text" and part["text"]]
    assert shown == ([CASES[name]] if found else [])
    assert [text for _, text in found] == ["\n".join(texts) or None for _ in found]
    assert found or name in ("an empty text", "nothing")


def test_the_calls_hold_the_same_messages(store: Bench) -> None:
    (found,) = store.rows(f"SELECT input FROM llm_calls WHERE trace_id = '{trace_id(1)}'")
    assert json.loads(found[0])[0]["parts"] == CASES["one text"]


def test_a_text_that_is_all_a_message_says_is_not_kept_twice(store: Bench) -> None:
    assert ("[]", TEXT) in store.rows(STORED)
    assert ("[]", None) not in store.rows(STORED)


def test_rows_from_before_are_equal_to_those_of_today(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(_call(1, CASES["one text"]))
        store.after(10)
        revisions = load_revisions(store.db, 0, 10, 0)
        today = stored_rows(store.db, revisions)
        both = json.dumps(CASES["one text"], ensure_ascii=False, separators=(",", ":"))
        store.db.write(
            lambda c: c.execute("UPDATE base.messages SET parts = ? WHERE role = 'user'", [both])
        ).result()
        assert stored_rows(store.db, revisions) == today
