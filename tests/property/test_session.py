"""A session is the conversation of its traces, whatever order they came in."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tracejury.session import session_trace
from tracejury.trace import Message, Part, Role, Trace, Usage

texts = st.sampled_from(["yes", "no", "book it", "done", ""])
answered = st.lists(st.tuples(texts, texts), min_size=1, max_size=6)
RULES = Message(role="system", parts=(Part(type="text", text="be brief"),))


def message(role: Role, text: str) -> Message:
    return Message(role=role, parts=(Part(type="text", text=text),))


def asked_and_answered(number: int, question: str, answer: str) -> list[Message]:
    """Numbered, so that no turn is that of another by chance."""
    return [message("user", f"{question} {number}"), message("assistant", f"{answer} {number}")]


def traces_of(parts: Sequence[Sequence[Message]]) -> list[Trace]:
    return [
        Trace(
            trace_id=f"{n:032x}",
            kind="agent",
            start_ns=n,
            end_ns=n + 5,
            messages=tuple(messages),
            usage=Usage(total_tokens=n),
            error_count=n,
        )
        for n, messages in enumerate(parts, start=1)
    ]


@given(answered, st.integers(0, 12), st.booleans(), st.randoms(use_true_random=False))
def test_what_prompts_repeat_of_the_conversation_counts_once(
    said: list[tuple[str, str]], window: int, instructed: bool, random: object
) -> None:
    turns = [asked_and_answered(n, *pair) for n, pair in enumerate(said)]
    system = [RULES] if instructed else []
    whole: list[Message] = []
    parts = []
    for turn in turns:
        parts.append([*system, *whole[len(whole) - min(window, len(whole)) :], *turn])
        whole.extend(turn)
    found = session_trace(traces_of(parts), session_id="chat").messages
    assert list(found) == [*system, *whole]


@given(st.permutations(range(6)), st.booleans())
def test_the_order_of_arrival_does_not_matter(order: list[int], is_cut: bool) -> None:
    traces = traces_of([asked_and_answered(n, "q", "a") for n in range(6)])
    shuffled = session_trace([traces[n] for n in order], is_cut=is_cut)
    assert shuffled == session_trace(traces, is_cut=is_cut)
    assert shuffled.usage.total_tokens == shuffled.error_count == sum(range(1, 7))
    assert (shuffled.start_ns, shuffled.end_ns) == (1, 11)
    assert shuffled.flags.truncated == is_cut


@given(st.lists(st.lists(st.builds(message, st.sampled_from(["user", "assistant"]), texts))))
def test_what_is_left_out_is_the_longest_answered_beginning_that_was_said_last(
    parts: list[list[Message]],
) -> None:
    said: list[Message] = []
    for part in parts:
        lengths = range(min(len(part), len(said)), 0, -1)
        repeated = next((n for n in lengths if said[len(said) - n :] == part[:n]), 0)
        if not any(m.role == "assistant" for m in part[:repeated]):
            repeated = 0
        said.extend(part[repeated:])
    assert list(session_trace(traces_of(parts)).messages) == said
