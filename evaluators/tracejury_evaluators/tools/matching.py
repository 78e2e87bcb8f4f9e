"""Which calls fit which expected ones, and which might if more had been recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from tracejury.dialects.decode import to_text
from tracejury.trace import ToolCall
from tracejury_evaluators.tools.arguments import ArgsMatch, ArgsMatcher, matcher
from tracejury_evaluators.tools.fields import Counted, ExpectedCall, Spelling
from tracejury_evaluators.tools.selection import counted_calls, spelled

MAX_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the arguments of calls are compared: by tool, and else."""

    default: ArgsMatcher
    by_tool: Mapping[str, ArgsMatcher]

    def of(self, name: str) -> ArgsMatcher:
        """The rule for a tool, whose name is spelled as names are compared."""
        return self.by_tool.get(name, self.default)


def rules_of(default: ArgsMatch, by_tool: Mapping[str, ArgsMatch], spelling: Spelling) -> Rules:
    """The rules made ready, tools under their names as they are compared."""
    names = spelled(by_tool, spelling)
    return Rules(
        default=matcher(default),
        by_tool=dict(zip(names, map(matcher, by_tool.values()), strict=True)),
    )


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """An expected call, its name spelled as names are compared."""

    name: str
    args: Any
    matcher: ArgsMatcher

    @cached_property
    def text(self) -> str:
        return shown(self.name, self.args)


def wanted_calls(
    expected: Sequence[str | ExpectedCall], rules: Rules, spelling: Spelling
) -> list[Wanted]:
    """The expected calls, each with the rule of its tool."""
    calls = [ExpectedCall(name=call) if isinstance(call, str) else call for call in expected]
    names = spelled([call.name for call in calls], spelling)
    return [
        Wanted(name=name, args=call.args, matcher=rules.of(name))
        for name, call in zip(names, calls, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The calls that count: as recorded, their names as compared, and where each name stands.

    `altered` is how recorded arguments may differ from the real ones; "" where they do not.
    """

    calls: Sequence[ToolCall]
    names: Sequence[str]
    positions: Mapping[str, Sequence[int]]
    altered: str


def called(calls: Sequence[ToolCall], counted: Counted, spelling: Spelling, altered: str) -> Called:
    """The calls that count, ready to be compared."""
    counting = counted_calls(calls, counted)
    names = spelled([call.name for call in counting], spelling)
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        positions.setdefault(name, []).append(position)
    return Called(calls=counting, names=names, positions=positions, altered=altered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """For each expected call, the calls that fit as bits: surely, and at best.

    The two differ where arguments were not recorded, or may not be the real ones.
    """

    sure: Sequence[int]
    possible: Sequence[int]


class Named(Protocol):
    """An expected call, of whatever else it tells."""

    @property
    def name(self) -> str:
        """The tool, its name spelled as names are compared."""

    @property
    def text(self) -> str:
        """The call as it stands in a message."""


N = TypeVar("N", bound=Named)


def rows_of(wanted: Sequence[N], made: Called, fits: Callable[[N, ToolCall], bool | None]) -> Rows:
    """Compare each expected call with the calls of the same name.

    `fits` says whether a call is the one expected; None where that was not recorded.
    """
    sure, possible = [], []
    for want in wanted:
        certain = doubtful = 0
        for position in made.positions.get(want.name, ()):
            fit = fits(want, made.calls[position])
            if fit:
                certain |= 1 << position
            elif fit is None or made.altered:
                doubtful |= 1 << position
        sure.append(certain)
        possible.append(certain | doubtful)
    return Rows(sure=sure, possible=possible)


def arguments_fit(want: Wanted, call: ToolCall) -> bool | None:
    """Whether a call has the arguments expected; None where they were not recorded."""
    rule = want.matcher
    if not rule.asks and (want.args is None or not rule.compares):
        return True
    return None if call.arguments is None else rule.matches(want.args, call.arguments)


def doubt(made: Called) -> str:
    """Why it cannot be told whether calls fit."""
    if made.altered:
        return f"the recorded content was {made.altered}, so what differs there may be the same"
    return "what was not recorded of the calls decides"


def shown(name: str, args: Any) -> str:
    """A call as it stands in a message."""
    if args is None:
        return name
    text = to_text(args)
    return f"{name}({text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + '…'})"
