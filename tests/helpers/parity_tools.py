"""Modes on tool calls (t), failed ones (e), counts (k) and outputs (o)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tests.helpers.parity import Case, Mode
from tracejury.evaluator import Evaluator, run_evaluator
from tracejury.result import Outcome
from tracejury.testing import make_tool_call, make_trace
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.registry import built_in_registry

BUILD = cache(built_in_registry)


def trace_of(case: Case) -> Trace:
    """Return the run of a case: its calls, those that failed or never ran as such."""
    return make_trace(tool_calls=[_call(call) for call in case["actual"]])


def _call(call: Mapping[str, Any]) -> ToolCall:
    status = call.get("status")
    if status == "deferred":
        return make_tool_call(call["name"], call["args"], None, source="message")
    return make_tool_call(call["name"], call["args"], error="failed" if status else None)


def judged_by(
    type_name: str, config: Mapping[str, Any], criteria: Callable[[Case], Mapping[str, Any]]
) -> Callable[[Case], Outcome]:
    """Return what judges a case: an evaluator of this config, with the criteria of the case."""

    @cache
    def evaluator() -> Evaluator[Any]:
        return BUILD().build(type_name, config)

    return lambda case: run_evaluator(evaluator(), trace_of(case), criteria(case))


def names(case: Case) -> dict[str, Any]:
    """Return the expected tools of a case as criteria."""
    return {"expected_tools": [call["name"] for call in case["reference"]]}


def nothing_at_all(case: Case) -> str:
    """Say why two empty lists are alike here."""
    empty = not case["reference"] and not case["actual"]
    return "no answer where both are empty (0/0), here they are alike" if empty else ""


def named(
    library: str, mode: str, ours: str, config: Mapping[str, Any] | None = None, **more: Any
) -> Mode:
    """Return a mode that looks at the names of the tools alone."""
    judge = judged_by(ours.split(" ", 1)[0], config or {}, names)
    return Mode(library=library, mode=mode, kind="t", ours=ours, judge=judge, **more)


def detail(name: str) -> Callable[[Outcome], float]:
    """Return what reads a number from the details of our outcome."""
    return lambda outcome: float(getattr(outcome, "details")[name])  # noqa: B009


SETS = (
    named(
        "sets",
        "tool-names.dice",
        "tool-f1 {counting: set}",
        {"counting": "set"},
        differs=nothing_at_all,
    ),
    named("sets", "tool-names.jaccard", "tool-jaccard", differs=nothing_at_all),
    Mode(
        library="sets",
        mode="tool-names.overlap_coefficient",
        kind="t",
        note="one call that was expected would make it 1, whatever is missing; "
        "`tracejury.similarity.overlap` has it for evaluators of your own",
    ),
)

RAPIDFUZZ = (
    named("rapidfuzz", "names:Indel.normalized_similarity", "tool-lcs"),
    named(
        "rapidfuzz",
        "names:LCSseq.normalized_similarity",
        "tool-lcs {measure: longer}",
        {"measure": "longer"},
    ),
    named(
        "rapidfuzz",
        "names:LCSseq.similarity",
        "tool-lcs",
        answer=detail("length"),
        note="`length` in the details",
    ),
    named(
        "rapidfuzz",
        "names:Levenshtein.distance",
        "tool-edit-distance",
        answer=detail("distance"),
        note="`distance` in the details",
    ),
    named("rapidfuzz", "names:Levenshtein.normalized_similarity", "tool-edit-distance"),
)

MODES: tuple[Mode, ...] = (*SETS, *RAPIDFUZZ)
