"""Which tool calls count, and under what names they are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tracejury.trace import ToolCall
from tracejury_evaluators.facts import did_run
from tracejury_evaluators.tools.fields import Counted, Spelling

MAX_NAME_CHARS = 64
NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def counted_calls(calls: Sequence[ToolCall], counted: Counted) -> Sequence[ToolCall]:
    """The calls that count, in order."""
    if counted == "asked":
        return calls
    ran = [call for call in calls if did_run(call)]
    return ran if counted == "ran" else [call for call in ran if call.error is None]


def spelled(names: Iterable[str], spelling: Spelling) -> list[str]:
    """The names as they are compared."""
    return list(names) if spelling == "exact" else [sanitized(name) for name in names]


def sanitized(name: str) -> str:
    """The name as model providers allow it: `A-Za-z0-9_-`, at most 64; white space becomes `_`.

    A name of which nothing would be left stays as it is, so that two such names differ.
    """
    return NOT_ALLOWED.sub("", "_".join(name.split()))[:MAX_NAME_CHARS] or name
