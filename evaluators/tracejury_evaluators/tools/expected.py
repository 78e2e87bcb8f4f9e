"""The tools that a case expects, from its criteria or from the config."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.evaluator import Criteria
from tracejury.result import Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import unseen_tool_calls
from tracejury_evaluators.tools.fields import ToolNames


class ExpectedTools(Criteria):
    """The tools that one case expects."""

    expected_tools: ToolNames = None


def expected_names(
    trace: Trace, own: Sequence[str] | None, default: Sequence[str] | None
) -> Sequence[str] | Skip:
    """The names that a case expects, else those of the config; a skip where neither has any."""
    expected = default if own is None else own
    if expected is None:
        return Skip("no expected_tools are given, neither in the config nor in the criteria")
    return unseen_tool_calls(trace) or expected
