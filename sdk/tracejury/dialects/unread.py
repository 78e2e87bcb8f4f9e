"""Attributes that look like what an agent said or did, and that no rule reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tracejury.dialects.decode import decode, to_text
from tracejury.dialects.index import INDEXED, Index

MAX_KEYS = 100
MAX_LABEL_CHARS = 200
MAX_EXAMPLE_CHARS = 200
# Where what is over the limits is counted, as scope and as key.
OTHER: Final = "other"
EVENT: Final = "event "
# Attributes of infrastructure, whatever words stand in them.
_INFRASTRUCTURE: Final = (
    *("http.", "url.", "net.", "network.", "server.", "client.", "db.", "rpc.", "messaging."),
    *("code.", "thread.", "process.", "host.", "os.", "telemetry.", "service.", "k8s.", "aws."),
    *("container.", "cloud.", "faas.", "exception.", "error.", "peer.", "user_agent.", "device."),
    *("browser.", "otel.", "deployment.", "tls.", "event.", "log.", "feature_flag.", "graphql."),
    *("azure.", "gcp.project", "enduser.", "webengine.", "heroku.", "system.", "tracejury."),
)
_SYSTEMS: Final = re.compile(r"(?:^|[._:\-])(?:gen_?ai|llms?|agents?|mcp)(?:[._:\-]|$)|^ai\.", re.I)
_WORDS: Final = re.compile(
    r"(?:^|[._:\-])(?:prompts?|completions?|messages?|chat|conversation|tools?|tool_?calls?|"
    r"arguments|tokens?|usage|model|reasoning|thinking|retriev\w*|embeddings?|rag|"
    r"inputs?|outputs?|questions?|answers?|responses?)(?:[._:\-]|$)",
    re.I,
)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def unread_attributes(
    index: Index, dialect: str, attributes: Mapping[str, Any], events: tuple[str, ...]
) -> dict[str, str]:
    """The labels of such attributes, and of `event NAME` for such events; at most `MAX_KEYS`.

    Each with the first attribute behind it, "" for an event. Flattened lists are named once, with
    `N` for their indices.
    """
    found: dict[str, str] = {}
    for key, value in attributes.items():
        if len(found) >= MAX_KEYS:
            return found
        if index.is_read(key) or index.is_known(key, dialect):
            continue
        if looks_like_genai(key) or _holds_messages(value):
            found.setdefault(label(pattern_of(key)), key)
    for name in events:
        if len(found) < MAX_KEYS and is_unread_event(index, dialect, name):
            found.setdefault(label(EVENT + name), "")
    return found


def is_unread_event(index: Index, dialect: str, name: str) -> bool:
    """Whether an event of this name looks like GenAI content, and no rule looks at it."""
    return (
        looks_like_genai(name)
        and name not in index.events
        and name not in index.event_kinds
        and name not in index.records
        and not index.is_known(name, dialect)
    )


def is_read_now(index: Index, reported: str) -> bool:
    """Whether some rule reads, or knows, what was reported under this label as unread."""
    if reported.startswith(EVENT):
        return not is_unread_event(index, "", reported.removeprefix(EVENT))
    key = re.sub(r"(?<=\.)N(?=\.|$)", "0", reported)
    return index.is_read(key) or index.is_known(key, "")


def label(text: str) -> str:
    """The start of a name that anybody may have sent, fit to be shown anywhere.

    What could steer a terminal, open a tag or begin a formula is written as `\\u` and four digits.
    """
    return _escaped(text[:MAX_LABEL_CHARS])


def excerpt(value: Any) -> str:
    """The start of a value: text as it is, other data as JSON; fit to be shown anywhere."""
    text = value[:MAX_EXAMPLE_CHARS] if isinstance(value, str) else to_text(value)
    return _escaped((text or "")[:MAX_EXAMPLE_CHARS])


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# Controls, what starts and ends a tag, line separators, bidirectional overrides, lone surrogates;
# and at the start what makes a spreadsheet compute.
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f<>\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|^[=+@-]"
)


def pattern_of(key: str) -> str:
    """The key with `N` for each index of a flattened list."""
    return re.sub(r"(?<=\.)\d+(?=\.|$)", "N", key) if INDEXED.match(key) else key


def looks_like_genai(name: str) -> bool:
    """Whether the name of an attribute or event speaks of models, agents, tools or messages."""
    if name.startswith(_INFRASTRUCTURE):
        return False
    words = _HUMP.sub("_", name)
    return bool(_SYSTEMS.search(words) or _WORDS.search(words))


def _holds_messages(value: Any) -> bool:
    """Whether the value is a list of messages, or an object that holds one."""
    data = decode(value)
    if isinstance(data, dict):
        return any(isinstance(v, list) and _is_message(v[:1]) for v in data.values())
    return isinstance(data, list) and _is_message(data[:1])


def _is_message(items: list[Any]) -> bool:
    return bool(items) and isinstance(items[0], dict) and {"role", "content"} <= items[0].keys()
