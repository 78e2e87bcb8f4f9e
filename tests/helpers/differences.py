"""Comparing rebuilt traces, in the shape of the API, with the facts of a recorded case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

Facts = Mapping[str, Any]
ApiTrace = Mapping[str, Any]

_RUNS = ("agent", "llm", "tool")


def differences(expected: Facts, traces: Sequence[ApiTrace]) -> list[str]:
    """What the traces of a case say otherwise than the facts; empty if they agree.

    A fact that `expected` does not name is not compared.
    """
    ordered = sorted(traces, key=lambda trace: trace["start_time"] or "")
    found: list[str] = []
    if "tool_calls" in expected:
        found += _tool_differences(expected["tool_calls"], ordered)
    if "turns" in expected:
        found += _turn_differences(expected["turns"], ordered)
    for key in ("input_tokens", "output_tokens"):
        if key in expected:
            total = sum(trace["usage"][key] or 0 for trace in ordered)
            if total != expected[key]:
                found.append(f"{key}: {total} instead of {expected[key]}")
    if expected.get("models"):
        found += _model_differences(expected["models"], ordered)
    for key in ("session_id", "user_id"):
        if key in expected:
            values = {trace[key] for trace in ordered if trace["kind"] in _RUNS}
            if values != {expected[key]}:
                found.append(f"{key}: {sorted(values)} instead of {expected[key]!r}")
    if "error" in expected:
        failed = any(trace["has_error"] for trace in ordered if trace["kind"] in _RUNS)
        if failed != expected["error"]:
            found.append(f"error: {failed} instead of {expected['error']}")
    return found


def _tool_differences(expected: Sequence[Facts], traces: Sequence[ApiTrace]) -> list[str]:
    """Calls of one turn may run side by side: each turn's calls are compared in any order."""
    calls = [call for trace in traces for call in trace["tool_calls"]]
    calls.sort(key=lambda call: call["start_time"] or "")
    if len(calls) != len(expected):
        names = [call["name"] for call in calls]
        return [f"tool_calls: {names} instead of {[call['name'] for call in expected]}"]
    found: list[str] = []
    position = 0
    for _, group in groupby(expected, key=lambda call: call.get("turn")):
        facts = list(group)
        found += _group_differences(facts, calls[position : position + len(facts)])
        position += len(facts)
    return found


def _group_differences(facts: Iterable[Facts], calls: Iterable[Facts]) -> list[str]:
    left = list(calls)
    found: list[str] = []
    for fact in facts:
        best = min(left, key=lambda call: _distance(fact, call))
        found += _call_differences(fact, best)
        left.remove(best)
    return found


def _distance(fact: Facts, call: Facts) -> tuple[bool, int]:
    return (call["name"] != fact["name"], len(_call_differences(fact, call)))


def _call_differences(fact: Facts, call: Facts) -> list[str]:
    if call["name"] != fact["name"]:
        return [f"tool call {call['name']!r} instead of {fact['name']!r}"]
    found = [
        f"{fact['name']}.{key}: {call[key]!r} instead of {fact[key]!r}"
        for key in ("arguments", "output")
        if key in fact and not same_data(fact[key], call[key])
    ]
    if bool(call["error"]) != bool(fact.get("error")):
        found.append(f"{fact['name']}.error: {call['error']!r} instead of {fact.get('error')!r}")
    return found


def same_data(one: Any, other: Any) -> bool:
    """Whether both are the same data; JSON text equals its value."""
    return bool(_data(one) == _data(other))


def _data(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value.strip()


def _turn_differences(expected: Sequence[Facts], traces: Sequence[ApiTrace]) -> list[str]:
    """Each turn must stand in one trace or turn, its input and its output together."""
    pairs = {(trace["input_text"], trace["output_text"]) for trace in traces}
    pairs |= {(turn["input"], turn["output"]) for trace in traces for turn in trace["turns"]}
    return [
        f"turn {dict(turn)!r} is not among {sorted(pairs)}"
        for turn in expected
        if not any(
            turn.get("input", asked).strip() == asked.strip()
            and turn.get("output", answer).strip() == answer.strip()
            for asked, answer in pairs
        )
    ]


def _model_differences(expected: Sequence[str], traces: Sequence[ApiTrace]) -> list[str]:
    """Each model must be named; others may only be the exact versions of these."""
    models = {model for trace in traces for model in trace["models"]}
    missing = [model for model in expected if model not in models]
    foreign = [model for model in models if not model.startswith(tuple(expected))]
    return [f"models: {sorted(models)} instead of {expected}"] if missing or foreign else []
