"""Texts that a library cut off, and the rest of them elsewhere in the trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracejury.dialects.decode import to_text
from tracejury.dialects.pyrepr import CUT


def whole(value: Any, others: Iterable[Any]) -> Any:
    """The longest of the others that goes on where the value was cut off; else the value.

    A value that ends in three dots of its own finds none that continues it, and stays.
    """
    if not isinstance(value, str) or not value.endswith(CUT):
        return value
    beginning = value.removesuffix(CUT)
    longer = [other for other in others if _rest(other).startswith(beginning)]
    return max(longer, key=lambda other: len(_rest(other)), default=value)


def _rest(value: Any) -> str:
    return to_text(value).removesuffix(CUT)
