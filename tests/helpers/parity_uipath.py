"""Modes of uipath on tool calls (t), counts (k) and outputs (o)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tests.helpers.parity import Case, Mode, equal, first_of, no_difference, our_answer
from tests.helpers.parity_calls import (
    GREEDY,
    NOTHING_EXPECTED,
    Differs,
    Judge,
    calls,
    contained_in,
    first_fit,
    nothing_expected,
    offered,
    otherwise,
    read_as,
    sequence,
)
from tracejury.dialects.decode import decode

ONE_SIDE = "the names of the criteria are sanitized there, those of the calls are not"
ZERO_CALLS = "without any call every count is missed there, `= 0` too"
PYTHON_TEXT = "content other than text is compared as Python prints it there, here as JSON"
NAMELESS = "names without a letter that providers allow are all alike there"


def uipath_name(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "", "_".join(name.split()))[:64]


def uipath_names(case: Case, *sides: str) -> Case:
    return {
        **case,
        **{
            side: [{**call, "name": uipath_name(call["name"])} for call in case[side]]
            for side in sides
        },
    }


def renamed(case: Case) -> Case:
    return uipath_names(case, "reference", "actual")


def uipath_args(*, strict: bool) -> Callable[[Case], float]:
    def oracle(case: Case) -> float:
        read = renamed(case)
        expected = read["reference"]
        if not expected:
            return float(not read["actual"])
        matched = first_fit(expected, read["actual"], contained_in)
        return float(matched == len(expected)) if strict else matched / len(expected)

    return oracle


SCORES = {"false": "graded", "true": "boolean"}

UIPATH_ORDER = tuple(
    sequence(
        "uipath",
        f"ToolCallOrder/strict={strict}",
        {"mode": mode, "args": "ignore", "score": SCORES[strict], "names": "sanitized"},
        differs=lambda judge, empty=empty: first_of(empty, read_as((renamed, NAMELESS))(judge)),
    )
    for strict, mode, empty in (
        ("false", "in_order", nothing_expected),
        ("true", "exact", no_difference),
    )
)

UIPATH_ARGS = tuple(
    offered(
        "uipath",
        f"ToolCallArgs/strict={strict},subset={subset}",
        "tool-args",
        {"args": "superset", "score": SCORES[strict], "names": "sanitized"},
        calls,
        differs=otherwise(
            uipath_args(strict=strict == "true"),
            GREEDY,
            (renamed, NAMELESS),
            before=nothing_expected,
        ),
    )
    for strict in SCORES
    for subset in ("false", "true")
)


def counts(case: Case) -> dict[str, Any]:
    """Return the counts that a case asks for as criteria."""
    return {"counts": case["criteria"]}


def counts_of_reference(sign: str) -> Callable[[Case], dict[str, Any]]:
    """Return what makes the criteria: as many calls of each tool as the reference has."""

    def criteria(case: Case) -> dict[str, Any]:
        called = Counter(call["name"] for call in case["reference"])
        return {"counts": {name: [sign, number] for name, number in called.items()}}

    return criteria


def counted_there(judge: Judge) -> Differs:
    """Say where a list that is empty decides there, whatever the counts are."""

    def differs(case: Case) -> str:
        if case["criteria"] and not case["actual"]:
            return "" if equal(our_answer(judge(case)), 0.0) else ZERO_CALLS
        return NOTHING_EXPECTED if not case["criteria"] and case["actual"] else ""

    return differs


def criterion_names(case: Case) -> Case:
    """Return the case as it is counted there: names of criteria that were not called sanitized."""
    called = {call["name"] for call in case["actual"]}
    sanitized = uipath_names(case, "reference")["reference"]
    return {
        **case,
        "reference": [
            plain if plain["name"] in called else clean
            for plain, clean in zip(case["reference"], sanitized, strict=True)
        ],
    }


UIPATH_COUNT = tuple(
    offered(
        "uipath",
        f"ToolCallCount/strict={strict}",
        "tool-count",
        {"score": score},
        counts,
        kind="k",
        differs=counted_there,
    )
    for strict, score in SCORES.items()
)

UIPATH_COUNT_OF_REFERENCE = tuple(
    offered(
        "uipath",
        f"ToolCallCount/{sign}counts-of-reference/strict={strict}",
        "tool-count",
        {"score": score},
        counts_of_reference(sign),
        differs=lambda judge: first_of(
            nothing_expected, read_as((criterion_names, ONE_SIDE))(judge)
        ),
    )
    for sign in ("=", ">=")
    for strict, score in SCORES.items()
)


def outputs(case: Case) -> dict[str, Any]:
    """Return the outputs that a case expects as criteria."""
    return {"expected": [{"name": c["name"], "output": c["output"]} for c in case["reference"]]}


def content_as_text(case: Case) -> Case:
    """Return the case as its outputs are read there: `str` of the content, "" where it is falsy."""
    return {**case, "actual": [{**call, "output_value": _content(call)} for call in case["actual"]]}


def _content(call: Mapping[str, Any]) -> str:
    output = decode(call["output_value"])
    if not isinstance(output, dict):
        return str(call["output_value"])
    return json.dumps({"content": str(output.get("content") or "")})


UIPATH_OUTPUT = tuple(
    offered(
        "uipath",
        f"ToolCallOutput/strict={strict}",
        "tool-output",
        {"field": "content", "occurrence": occurrence, "score": score, "names": "sanitized"},
        outputs,
        kind="o",
        differs=lambda judge: first_of(
            nothing_expected, read_as((content_as_text, PYTHON_TEXT))(judge)
        ),
    )
    for (strict, score), occurrence in zip(SCORES.items(), ("any", "nth"), strict=True)
)

MODES: tuple[Mode, ...] = (
    *UIPATH_ORDER,
    *UIPATH_ARGS,
    *UIPATH_COUNT,
    *UIPATH_COUNT_OF_REFERENCE,
    *UIPATH_OUTPUT,
)
