"""Texts of a trace as data in a prompt: bounded, and behind a fence that they cannot hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

FENCE_DIGITS = 16


def cut(text: str, max_chars: int) -> str:
    """The text, at most about `max_chars` long: what is too much is left out of its middle."""
    if len(text) <= max_chars:
        return text
    head = max_chars * 2 // 3
    tail = max_chars - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[... {left_out} characters left out ...]\n{text[-tail:]}"


def fence_of(texts: Iterable[str]) -> str:
    """16 hex digits that occur in none of the texts, the same for the same texts."""
    known = list(texts)
    digest = hashlib.blake2b(digest_size=FENCE_DIGITS // 2)
    for text in known:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\xff")
    fence = digest.hexdigest()
    while any(fence in text for text in known):
        fence = hashlib.blake2b(fence.encode(), digest_size=FENCE_DIGITS // 2).hexdigest()
    return fence


def fenced(name: str, text: str, fence: str) -> str:
    """The text between its marks."""
    return f"<data-{fence} {name}>\n{text}\n</data-{fence}>"


def fenced_all(values: Mapping[str, str], max_chars: int) -> tuple[str, dict[str, str]]:
    """The fence, and every value behind it; texts that UTF-8 cannot hold are mended."""
    bounded = {name: _sendable(cut(text, max_chars)) for name, text in values.items()}
    fence = fence_of(bounded.values())
    return fence, {name: fenced(name, text, fence) for name, text in bounded.items()}


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
