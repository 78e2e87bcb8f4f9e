"""Modes on tool calls of libraries that compare names and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.helpers.parity import Case, Mode, first_of
from tests.helpers.parity_calls import (
    GREEDY,
    Config,
    Differs,
    Judge,
    contained_in,
    detail,
    first_fit,
    nothing_expected,
    numbers_by_text,
    offered,
    otherwise,
    python_equality,
    read_as,
    sequence,
    tool_names,
    within,
)

BOTH_EMPTY = "no answer where both are empty (0/0), here they are alike"
REFUSED = "an empty expectation is refused there, here it is judged"
SETS_EQUAL = "compares sets there: aab equals abb"
BY_TEXT = "1 and 1.0 are different there (by their text), here they are the same number"
ONCE = "equal calls are found once there, so that a list may miss itself"


def nothing_at_all(case: Case) -> str:
    return BOTH_EMPTY if not case["reference"] and not case["actual"] else ""


def similar(library: str, mode: str, type_name: str, config: Config, **more: Any) -> Mode:
    return offered(library, mode, type_name, config, tool_names, **more)


SETS = (
    similar(
        "sets",
        "tool-names.dice",
        "tool-f1",
        {"counting": "set"},
        differs=lambda _: nothing_at_all,
    ),
    similar("sets", "tool-names.jaccard", "tool-jaccard", {}, differs=lambda _: nothing_at_all),
    Mode(
        library="sets",
        mode="tool-names.overlap_coefficient",
        kind="t",
        note="one call that was expected would make it 1, whatever is missing; "
        "`tracejury.similarity.overlap` has it for evaluators of your own",
    ),
)

RAPIDFUZZ = (
    similar("rapidfuzz", "names:Indel.normalized_similarity", "tool-lcs", {}),
    similar("rapidfuzz", "names:LCSseq.normalized_similarity", "tool-lcs", {"measure": "longer"}),
    similar(
        "rapidfuzz",
        "names:LCSseq.similarity",
        "tool-lcs",
        {},
        answer=detail("length"),
        note="`length` in the details",
    ),
    similar(
        "rapidfuzz",
        "names:Levenshtein.distance",
        "tool-edit-distance",
        {},
        answer=detail("distance"),
        note="`distance` in the details",
    ),
    similar("rapidfuzz", "names:Levenshtein.normalized_similarity", "tool-edit-distance", {}),
)

ADK = tuple(
    sequence(
        "google-adk",
        f"TrajectoryEvaluator/{theirs}{suffix}",
        {"mode": ours, "args": args, "score": "boolean"},
        differs=python_equality,
    )
    for theirs, ours in (
        ("EXACT", "exact"),
        ("IN_ORDER", "in_order"),
        ("ANY_ORDER", "contains_expected"),
    )
    for args, suffix in (("exact", ""), ("ignore", ",ignore_args"))
)

AGENTEVALS_SHAPES = {
    "strict/{}@per_message": "exact",
    "strict/{}@one_message": "any_order",
    "unordered/{}": "any_order",
    "superset/{}": "contains_expected",
    "subset/{}": "within_expected",
}
PLAIN_ARGS: Mapping[str, Any] = {"exact": "exact", "ignore": "ignore", "override-keys[q]": ["q"]}


def agentevals(theirs: str, ours: str, args: Any, **more: Any) -> Mode:
    config = {"mode": ours, "args": args, "score": "boolean"}
    return sequence("agentevals", theirs, config, **{"differs": python_equality, **more})


def containing(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> bool:
    return within(inner, outer)


FITS = {"subset": containing, "superset": contained_in}
"""Whether a call fits an expected one: by the arguments of (expected, call)."""


def served(case: Case, fits: Callable[[Any, Any], bool], *, called: bool = False) -> float:
    """Say whether each expected call, or each one made, is served by a first fit."""
    seekers, offers = case["reference"], case["actual"]
    if called:
        seekers, offers = offers, seekers
    return float(first_fit(seekers, offers, fits) == len(seekers))


def as_many(case: Case) -> bool:
    return len(case["reference"]) == len(case["actual"])


def greedy(oracle: Callable[[Case], float]) -> Any:
    return otherwise(oracle, GREEDY)


def lenient(args: str) -> tuple[Mode, ...]:
    """Return the modes that let calls have more or fewer arguments than expected."""
    fits = FITS[args]
    other = "superset" if args == "subset" else "subset"
    return (
        agentevals(f"strict/{args}@per_message", "exact", args),
        agentevals(
            f"strict/{args}@one_message",
            "any_order",
            args,
            differs=greedy(lambda case: as_many(case) and served(case, fits)),
        ),
        agentevals(
            f"unordered/{args}",
            "any_order",
            "exact",
            differs=greedy(lambda case: served(case, fits) and served(case, fits, called=True)),
            note="asks for it in both directions, so for equal arguments",
        ),
        agentevals(
            f"superset/{args}",
            "contains_expected",
            args,
            differs=greedy(lambda case: served(case, fits)),
        ),
        agentevals(
            f"subset/{args}",
            "within_expected",
            other,
            differs=greedy(lambda case: served(case, fits, called=True)),
            note=f"its `{args}` turns around inside `subset`",
        ),
    )


AGENTEVALS = (
    *(
        agentevals(theirs.format(args), ours, rule)
        for theirs, ours in AGENTEVALS_SHAPES.items()
        for args, rule in PLAIN_ARGS.items()
        if (theirs, args) != ("strict/{}@per_message", "override-keys[q]")
    ),
    *lenient("subset"),
    *lenient("superset"),
)


def unique(calls_made: list[Any]) -> list[Any]:
    """Return the calls, of equal ones the first."""
    found: list[Any] = []
    for call in calls_made:
        if call not in found:
            found.append(call)
    return found


def as_sets(case: Case) -> Case:
    """Return the case as sets compare it, where both sides have as many calls."""
    if not as_many(case):
        return case
    return {**case, **{side: unique(case[side]) for side in ("reference", "actual")}}


def without_args(case: Case) -> Case:
    return {
        **case,
        **{
            side: [{"name": call["name"], "args": {}} for call in case[side]]
            for side in ("reference", "actual")
        },
    }


def refused(case: Case) -> str:
    return "" if case["reference"] else REFUSED


def mlflow(mode: str, ours: str, args: str, *steps: Any) -> Mode:
    def differs(judge: Judge) -> Differs:
        return first_of(refused, read_as(*steps)(judge) if steps else lambda _: "")

    config = {"mode": ours, "args": args, "score": "boolean"}
    return sequence("mlflow", f"ToolCallCorrectness/{mode}", config, differs=differs)


MLFLOW = (
    mlflow("exact,ordered,args", "exact", "exact", (numbers_by_text, BY_TEXT)),
    mlflow("exact,ordered,names-only", "exact", "ignore"),
    mlflow(
        "exact,unordered,args",
        "any_order",
        "exact",
        (numbers_by_text, BY_TEXT),
        (as_sets, SETS_EQUAL),
    ),
    mlflow(
        "exact,unordered,names-only",
        "any_order",
        "ignore",
        (lambda case: as_sets(without_args(case)), SETS_EQUAL),
    ),
)


def found_once(case: Case) -> Case:
    """Return the case with equal calls made once."""
    return {**case, "actual": unique(case["actual"])}


def deepeval(mode: str, config: Config, *reasons: Any) -> Mode:
    def differs(judge: Judge) -> Differs:
        return first_of(*(reason(judge) for reason in reasons))

    return sequence("deepeval", f"ToolCorrectness/{mode}", config, differs=differs)


WEIGHED_ARGS = (
    "an argument is right or wrong here: tool-args gives the share of calls with the right ones"
)
DEEPEVAL = (
    deepeval(
        "default",
        {"mode": "contains_expected", "args": "ignore"},
        lambda _: nothing_expected,
        read_as((found_once, ONCE)),
    ),
    deepeval(
        "should_consider_ordering",
        {"mode": "in_order", "args": "ignore"},
        lambda _: nothing_expected,
    ),
    deepeval("should_exact_match", {"mode": "exact", "args": "ignore", "score": "boolean"}),
    deepeval(
        "should_exact_match,INPUT_PARAMETERS",
        {"mode": "exact", "args": "exact", "score": "boolean"},
        python_equality,
    ),
    *(
        Mode(library="deepeval", mode=f"ToolCorrectness/{mode}", kind="t", note=WEIGHED_ARGS)
        for mode in ("default,INPUT_PARAMETERS", "should_consider_ordering,INPUT_PARAMETERS")
    ),
)

MODES: tuple[Mode, ...] = (*SETS, *RAPIDFUZZ, *ADK, *AGENTEVALS, *MLFLOW, *DEEPEVAL)
