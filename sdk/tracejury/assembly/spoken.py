"""What was said in messages: the last word of each side, and what was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tracejury.assembly.message import is_message
from tracejury.dialects.decode import decode
from tracejury.trace import Message, Part, Role

_OBSERVATION: Final = "Observation:"
# A block of text wholly inside one tag, as `<session_context>` or `<system-reminder>`.
_CONTEXT: Final = re.compile(r"<([a-z]+[_-][a-z_-]{1,60})>.*</\1>", re.S)
# How Google ADK begins what it tells an agent of another agent.
_QUOTATION: Final = re.compile(
    r"For context:(?: below is a transcript of what another agent did\b.*)?", re.S
)


def last_text(messages: Sequence[Message], role: Role) -> str:
    """The text of the last message of a role that holds some.

    Coding agents put context beside the user's words, each block a part in a tag of its own:
    such parts are left out where others are there. What was done is no user's text.
    """
    quoted = ""
    for message in reversed(messages):
        if message.role == role and (text := message.text.strip()):
            if role == "user" and _is_quotation(message):
                quoted = quoted or text
                continue
            return _without_context(message) if role == "user" and text[0] == "<" else text
    return quoted


def _is_quotation(message: Message) -> bool:
    """Whether the message hands on what was done, and asks nothing.

    So do what Google ADK tells an agent of another's work, and tool results in ReAct's plain text.
    """
    first = message.parts[0].text
    if first.startswith(_OBSERVATION):
        return True
    return first.startswith("For context:") and _QUOTATION.fullmatch(first.strip()) is not None


def _without_context(message: Message) -> str:
    texts = [part.text for part in message.parts if part.type == "text" and part.text]
    said = [text for text in texts if not _CONTEXT.fullmatch(text.strip())]
    return "\n".join(said).strip() or message.text.strip()


def is_conversation(text: str) -> bool:
    """Whether the text is a JSON list of messages, even of messages that hold nothing."""
    data = decode(text)
    return (
        isinstance(data, list)
        and bool(data)
        and all(isinstance(item, dict) and is_message(item) for item in data)
    )


def has_parts(messages: Sequence[Message]) -> bool:
    """Whether any of the messages holds something."""
    for message in messages:  # noqa: SIM110
        if message.parts:
            return True
    return False


def calls_of(messages: Sequence[Message]) -> list[Part]:
    """The tool calls that the messages ask for, in order."""
    return [part for message in messages for part in message.parts if part.type == "tool_call"]
