"""Cases of tool calls as traces, and how other libraries read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import yaml

from tests.helpers.parity import Answer, Case, Mode, equal, no_difference, our_answer, unlike
from tracejury.dialects.decode import decode
from tracejury.evaluator import Evaluator, run_evaluator
from tracejury.result import Outcome
from tracejury.testing import make_tool_call, make_trace
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.registry import built_in_registry

BUILD = cache(built_in_registry)
Config = Mapping[str, Any]
Criteria = Callable[[Case], Mapping[str, Any]]

Judge = Callable[[Case], Outcome]
Differs = Callable[[Case], str]
Oracle = Callable[[Case], float]

NOTHING_EXPECTED = "nothing is expected: 0 there, here nothing is missing"
GREEDY = "pairs greedily there, so that a call is missing which another expected call took"
TRUE_IS_NOT_1 = "true is 1 there, here they are different data"


def trace_of(case: Case) -> Trace:
    """Return the run of a case: its calls, those that failed or never ran as such."""
    return make_trace(tool_calls=[_call(call) for call in case["actual"]])


def _call(call: Mapping[str, Any]) -> ToolCall:
    if "output_value" in call:
        text = call["output_value"]
        return make_tool_call(call["name"], output=decode(text), output_text=text)
    status = call.get("status")
    if status == "deferred":
        return make_tool_call(call["name"], call["args"], None, source="message")
    return make_tool_call(call["name"], call["args"], error="failed" if status else None)


def judged_by(type_name: str, config: Config, criteria: Criteria) -> Judge:
    """Return what judges a case: an evaluator of this config, with the criteria of the case."""

    @cache
    def evaluator() -> Evaluator[Any]:
        return BUILD().build(type_name, config)

    return lambda case: run_evaluator(evaluator(), trace_of(case), criteria(case))


def written(type_name: str, config: Config) -> str:
    """Return an evaluator as a user writes it."""
    flow = yaml.safe_dump(dict(config), default_flow_style=True, sort_keys=False, width=1000)
    return f"{type_name} {flow.strip()}" if config else type_name


def offered(
    library: str,
    mode: str,
    type_name: str,
    config: Config,
    criteria: Criteria,
    *,
    kind: str = "t",
    differs: Callable[[Judge], Differs] = lambda _: no_difference,
    **more: Any,
) -> Mode:
    """Return a mode that an evaluator of this config offers; `differs` is told how it judges."""
    judge = judged_by(type_name, config, criteria)
    return Mode(
        library=library,
        mode=mode,
        kind=kind,
        ours=written(type_name, config),
        judge=judge,
        differs=differs(judge),
        **more,
    )


def tool_names(case: Case) -> dict[str, Any]:
    """Return the expected tools of a case as criteria."""
    return {"expected_tools": [call["name"] for call in case["reference"]]}


def calls(case: Case) -> dict[str, Any]:
    """Return the expected calls of a case as criteria."""
    return {"expected": [{"name": c["name"], "args": c["args"]} for c in case["reference"]]}


def detail(name: str) -> Callable[[Outcome], Answer]:
    """Return what reads a number from the details of our outcome."""
    return lambda outcome: float(getattr(outcome, "details")[name])  # noqa: B009


def mapped(case: Case, change: Callable[[Any], Any]) -> Case:
    """Return the case with every value in its arguments changed."""
    return {
        **case,
        "reference": [{**c, "args": deep(c["args"], change)} for c in case["reference"]],
        "actual": [{**c, "args": deep(c["args"], change)} for c in case["actual"]],
    }


def deep(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the value with everything in it changed that is no object and no list."""
    if isinstance(value, dict):
        return {key: deep(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [deep(item, change) for item in value]
    return change(value)


def bools_as_numbers(case: Case) -> Case:
    """Return the case as Python compares it: True == 1."""
    return mapped(case, lambda value: int(value) if isinstance(value, bool) else value)


def numbers_by_text(case: Case) -> Case:
    """Return the case as its JSON text compares: 1, 1.0 and true are three values."""
    return mapped(
        case,
        lambda value: f"number {json.dumps(value)}" if isinstance(value, (int, float)) else value,
    )


def python_equality(judge: Judge) -> Differs:
    """Say where the library takes true for 1."""
    return unlike(judge, bools_as_numbers, TRUE_IS_NOT_1)


def first_fit(
    seekers: Sequence[Any], offers: Sequence[Any], fits: Callable[[Any, Any], bool]
) -> int:
    """Return how many seekers are served where each takes the first free offer of its name."""
    free = list(offers)
    served = 0
    for seeker in seekers:
        taken = next(
            (o for o in free if o["name"] == seeker["name"] and fits(seeker["args"], o["args"])),
            None,
        )
        if taken is not None:
            free = [offer for offer in free if offer is not taken]
            served += 1
    return served


def within(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> bool:
    """Say whether one object's entries are all in the other, by Python's equality."""
    return all(key in outer and outer[key] == value for key, value in inner.items())


Step = tuple[Callable[[Case], Case], str]
"""How a library reads a case, and what that means."""

PYTHON_EQUALITY: Step = (bools_as_numbers, TRUE_IS_NOT_1)


def otherwise(
    oracle: Oracle, reason: str, *steps: Step, before: Differs = no_difference
) -> Callable[[Judge], Differs]:
    """Say where the library's own algorithm answers otherwise, and why.

    `oracle` is that algorithm, as the facts about the library describe it. The reason is that of
    `before`, of the first step that changes our answer, or else `reason`.
    """

    def differs_from(judge: Judge) -> Differs:
        def differs(case: Case) -> str:
            ours = our_answer(judge(case))
            if equal(ours, float(oracle(case))):
                return ""
            changing = (
                said
                for transform, said in (PYTHON_EQUALITY, *steps)
                if not equal(ours, our_answer(judge(transform(case))))
            )
            return before(case) or next(changing, reason)

        return differs

    return differs_from


def read_as(*steps: Step) -> Callable[[Judge], Differs]:
    """Say where the library's reading of a case changes the answer, and which step of it does."""

    def differs_from(judge: Judge) -> Differs:
        def differs(case: Case) -> str:
            read = case
            for transform, _ in steps:
                read = transform(read)
            ours = our_answer(judge(case))
            if equal(ours, our_answer(judge(read))):
                return ""
            single = (
                reason
                for transform, reason in steps
                if not equal(ours, our_answer(judge(transform(case))))
            )
            return next(single, steps[-1][1])

        return differs

    return differs_from


def nothing_expected(case: Case) -> str:
    """Say why nothing expected and something called is no failure here."""
    return NOTHING_EXPECTED if not case["reference"] and case["actual"] else ""


def contained_in(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> bool:
    """Say whether the expected arguments are all among those of a call."""
    return within(inner, outer)


def sequence(library: str, mode: str, config: Config, **more: Any) -> Mode:
    """Return a mode that `tool-sequence` offers."""
    return offered(library, mode, "tool-sequence", config, calls, **more)
