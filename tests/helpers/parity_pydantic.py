"""Modes of pydantic-evals on tool calls (t), some of which failed (e)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.helpers.parity import Answer, Case, Mode
from tests.helpers.parity_calls import (
    Config,
    calls,
    offered,
    python_equality,
)

KEPT = {"": "succeeded", "+include_failed": "ran"}
"""How calls are counted by the suffix of a mode; calls that are deferred never count there."""


def pydantic(
    kind: str, suffix: str, mode: str, type_name: str, config: Config, **more: Any
) -> Mode:
    if kind == "e":
        config = {**config, "calls": KEPT[suffix]}
    criteria = more.pop("criteria", calls)
    name = f"{mode}{suffix}"
    return offered("pydantic-evals", name, type_name, config, criteria, kind=kind, **more)


NAME_MODES: Mapping[str, Config] = {
    "TrajectoryMatch/exact": {"mode": "exact", "args": "ignore", "score": "boolean"},
    "TrajectoryMatch/in_order": {"mode": "exact", "args": "ignore"},
    "TrajectoryMatch/any_order": {"mode": "any_order", "args": "ignore"},
    "ToolCorrectness/allow_extra=false": {
        "mode": "any_order",
        "args": "ignore",
        "score": "boolean",
    },
    "ToolCorrectness/allow_extra=true": {
        "mode": "contains_expected",
        "args": "ignore",
        "score": "boolean",
    },
}


def first_call(case: Case) -> dict[str, Any]:
    """Return the first expected call alone as criteria."""
    return {"expected": calls(case)["expected"][:1]}


def share_of_calls(recorded: Any) -> Answer:
    """Return the share of expected calls found right."""
    right: list[bool] = recorded[2]["per_reference_call"]
    return sum(right) / len(right)


ARGUMENTS = {"exact": "exact", "subset": "superset"}
"""Our name of an args mode: from the call's side, as the modes of `tool-sequence` are."""


def arguments(kind: str, suffix: str) -> tuple[Mode, ...]:
    one_call = tuple(
        pydantic(
            kind,
            suffix,
            f"ArgumentCorrectness/{theirs}@{occurrence}-of-first-reference-tool",
            "tool-args",
            {"args": ours, "occurrence": occurrence},
            criteria=first_call,
            differs=python_equality,
        )
        for theirs, ours in ARGUMENTS.items()
        for occurrence in ("first", "last")
    )
    return one_call + tuple(
        pydantic(
            kind,
            suffix,
            f"ArgumentCorrectness/{theirs}@nth",
            "tool-args",
            {"args": ours, "occurrence": "nth"},
            read=share_of_calls,
            differs=python_equality,
        )
        for theirs, ours in ARGUMENTS.items()
    )


def at_most_expected(less: int) -> Callable[[Case], dict[str, Any]]:
    return lambda case: {"total": ["<=", len(case["reference"]) - less]}


def max_calls(kind: str, less: int, suffix: str, counted: str) -> Mode:
    return offered(
        "pydantic-evals",
        f"MaxToolCalls/max=len(reference){f'-{less}' if less else ''}{suffix}",
        "tool-count",
        {"calls": counted},
        at_most_expected(less),
        kind=kind,
    )


MODES: tuple[Mode, ...] = (
    *(
        pydantic(kind, suffix, mode, "tool-sequence", config)
        for kind, suffix in (("t", ""), ("e", ""), ("e", "+include_failed"))
        for mode, config in NAME_MODES.items()
    ),
    *(
        mode
        for kind, suffix in (("t", ""), ("e", ""), ("e", "+include_failed"))
        for mode in arguments(kind, suffix)
    ),
    *(max_calls("t", less, "", "ran") for less in (0, 1)),
    *(
        max_calls("e", less, f",include_failed={failed}", counted)
        for less in (0, 1)
        for failed, counted in (("false", "succeeded"), ("true", "ran"))
    ),
)
