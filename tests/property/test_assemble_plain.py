"""Short ways of assembly give what the long ways give."""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tracejury.assembly.message import is_message, parse_message, plain_message
from tracejury.dialects.pyrepr import _literal

BLOCK = '{"type":"text","text":"a"}'
texts = st.sampled_from(("", "hi", "{}", BLOCK, f"[{BLOCK}]"))
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(("text", "text", "Text", "refusal", "tool_result"))},
    optional={"text": st.one_of(texts, st.just(1)), "content": texts},
)
contents: st.SearchStrategy[Any] = st.one_of(
    texts, st.lists(blocks, max_size=2), st.sampled_from((None, 0, {}, ["a"], [None]))
)
roles = st.sampled_from(("user", "assistant", "tool", "human", "AI", "none", None))
messages = st.fixed_dictionaries(
    {"role": roles},
    optional={
        "parts": contents,
        "content": contents,
        "finish_reason": st.sampled_from(("stop", "TOOL_CALLS", ["length"], None)),
        "name": texts,
    },
)


@settings(max_examples=1000)
@given(st.one_of(messages, messages.map(lambda data: {"message": data})))
def test_a_plain_message_is_what_the_full_search_gives(data: dict[str, Any]) -> None:
    plain = plain_message(data)
    if plain is not None:
        assert is_message(data)
        assert plain == parse_message(data, "user", 0)


def test_most_messages_are_plain() -> None:
    assert plain_message({"role": "user", "content": "hi"})
    assert plain_message({"role": "user", "parts": [{"type": "text", "content": "hi"}]})
    assert plain_message({"message": {"role": "user", "content": "hi"}})


@given(st.one_of(st.text(max_size=8), st.integers(), st.text("'\"\\\n\0ab", max_size=6)))
def test_a_literal_is_what_the_compiler_reads(value: str | int) -> None:
    token = repr(value)
    assert _literal(token) == ast.literal_eval(token) == value
