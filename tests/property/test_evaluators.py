"""The built-in evaluators on traces of any shape: they judge or skip, and never break."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracejury.evaluator import run_evaluator
from tracejury.result import Failure, Skip, outcome_to_json
from tracejury.testing import make_document, make_llm_call, make_tool_call, make_trace
from tracejury.trace import Flags, Usage
from tracejury_evaluators import judge
from tracejury_evaluators.registry import built_in_registry
from tracejury_evaluators.trajectory import NoLoops

TEXT = st.text(st.characters(), max_size=10)  # lone surrogates too
NAMES = st.sampled_from(["a", "b", "c", ""]) | TEXT
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)
COUNTS = st.none() | st.integers(0, 2**70)
TOOL_CALLS = st.builds(
    make_tool_call,
    name=NAMES,
    arguments=JSON,
    output=st.none() | TEXT,
    error=st.none() | TEXT,
    source=st.sampled_from(["span", "message", "both"]),
)
LLM_CALLS = st.builds(
    make_llm_call, tools=st.lists(NAMES, max_size=3), input_tokens=COUNTS, output_tokens=COUNTS
)
DOCUMENTS = st.builds(
    make_document,
    content=TEXT,
    id=NAMES,
    metadata=st.dictionaries(NAMES, JSON, max_size=2),
    span_id=st.sampled_from(["", "first", "second"]),
)
TRACES = st.builds(
    make_trace,
    output=TEXT | JSON.map(json.dumps),
    tool_calls=st.lists(TOOL_CALLS, max_size=8),
    llm_calls=st.lists(LLM_CALLS, max_size=3),
    documents=st.lists(DOCUMENTS, max_size=4),
    latency_ms=st.floats(0, 1e12),
    kind=st.sampled_from(["agent", "llm", "tool", "setup", "evaluator", "other"]),
    flags=st.builds(
        Flags, redacted=st.booleans(), truncated=st.booleans(), not_captured=st.booleans()
    ),
    usage=st.builds(Usage, input_tokens=COUNTS, output_tokens=COUNTS, total_tokens=COUNTS),
)
CONFIGS: dict[str, dict[str, Any]] = {
    "regex": {"patterns": [{"pattern": "[a-f]+"}, {"pattern": "z", "must_match": False}]},
    "word-count": {"min_words": 2, "max_words": 3},
    "equals": {"expected": ["", "a"], "unicode_form": "NFKC", "case_sensitive": False},
    "contains": {"expected": ["a", "b"], "mode": "any"},
    "starts-with": {"expected": "a"},
    "ends-with": {"expected": "a"},
    "levenshtein": {"expected": "abc", "transpositions": "any"},
    "jaccard": {"expected": "abc", "unit": "characters", "ngram": 2},
    "dice": {"expected": "a b", "repeats": True},
    "overlap": {"expected": "a b", "collapse_whitespace": True},
    "retrieval-precision": {"expected": ["a", "b"], "match_by": "metadata", "metadata_key": "a"},
    "retrieval-recall": {"expected": ["a", "b"], "k": 2},
    "retrieval-hit": {"expected": ["a", ""], "match_by": "content", "retrievals": "last"},
    "no-pii": {
        "where": ["output", "input", "tool_arguments", "tool_outputs", "documents"],
        "kinds": ["email", "phone", "card", "iban", "us_ssn", "ip_address"],
        "patterns": {"own": "a*"},
        "allow": ["*a"],
        "allow_from_input": True,
    },
    "banned-terms": {"terms": ["a", "b c"], "where": ["output", "tool_arguments"]},
    "grounded-overlap": {"unit": "sentences", "min_word_chars": 1},
    "lcs": {"expected": "abc", "relative_to": "expected"},
    "json-schema": {"schema": {"type": "object", "additionalProperties": {"type": "string"}}},
    "json-similarity": {"expected": {"a": [1, "b"]}, "lists": "assignment"},
    "json-fields": {"expected": {"a": 1, "[*]": "b"}},
    "tool-usage": {"expected_tools": ["a", "b", "a"]},
    "tool-sequence": {"expected": ["a", {"name": "b", "args": {"a": 1}}], "args": "superset"},
    "tool-args": {"expected": [{"name": "a", "args": [1]}, "b"], "tools": {"b": ["x"]}},
    "tool-count": {"counts": {"a": [">", 0], "b": 1}, "total": "<= 3", "names": "sanitized"},
    "tool-output": {"expected": [{"name": "a", "output": "."}], "compare": "regex", "field": "a"},
    "required-tools": {"tools": ["a", "b"]},
    "forbidden-tools": {"tools": ["c"]},
    "tool-order-constraints": {"before": [["a", "b"]], "never_after": [["b", "c"]], "last": ["a"]},
    "tool-jaccard": {"expected_tools": ["a", "b"]},
    "tool-f1": {"expected_tools": ["a", "b"], "calls": "succeeded"},
    "tool-edit-distance": {"expected_tools": ["a", "b"], "names": "sanitized"},
    "tool-lcs": {"expected_tools": ["a", "b"], "measure": "recall"},
    "tool-latency": {"budget_ms": 5, "percentile": 50},
    "composite": {"members": [{"type": "non-empty-output"}, {"type": "no-loops"}]},
    "latency-budget": {"budget_ms": 1000},
    "token-budget": {"max_total_tokens": 100, "max_output_tokens": 10},
    "cost-budget": {"max_usd": 1, "score": "headroom"},
    "step-budget": {"max_steps": 3, "warn_share": 0.5},
    "llm-call-budget": {"max_llm_calls": 2},
    "time-to-first-token": {"budget_ms": 100},
}
REGISTRY = built_in_registry()
ELSEWHERE = {"process", "webhook", "sql", *(evaluator.type for evaluator in judge.EVALUATORS)}
"""Types that judge outside of this process: the traces here are too many for them."""
EVALUATORS = [
    REGISTRY.build(row.type, CONFIGS.get(row.type))
    for row in REGISTRY.types()
    if row.type not in ELSEWHERE
]


@given(trace=TRACES)
def test_a_built_in_never_fails_and_always_says_why(trace: Any) -> None:
    for evaluator in EVALUATORS:
        outcome = run_evaluator(evaluator, trace)
        assert not isinstance(outcome, Failure), (evaluator.type, outcome)
        assert outcome.reason
        json.dumps(outcome_to_json(outcome), allow_nan=False).encode("utf-8")


def test_arguments_nested_without_bounds_cannot_be_compared() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    calls = [make_tool_call("a", deep) for _ in range(3)]
    assert isinstance(run_evaluator(NoLoops(), make_trace(tool_calls=calls)), Skip)


@given(calls=st.lists(st.sampled_from("abc"), max_size=12), repeats=st.integers(2, 4))
def test_a_run_of_calls_is_found_like_by_looking_at_every_window(
    calls: list[str], repeats: int
) -> None:
    windows = [calls[start : start + repeats] for start in range(len(calls) - repeats + 1)]
    looped = any(len(set(window)) == 1 for window in windows)
    evaluator = NoLoops(max_repeats=repeats, max_cycles=100)
    outcome = outcome_to_json(run_evaluator(evaluator, make_trace(tool_calls=calls)))
    assert outcome.get("verdict", "pass") == ("fail" if looped else "pass")


@given(calls=st.lists(st.sampled_from("abc"), max_size=12), cycles=st.integers(2, 3))
def test_a_cycle_of_calls_is_found_like_by_looking_at_every_window(
    calls: list[str], cycles: int
) -> None:
    size = 2 * cycles
    windows = [calls[start : start + size] for start in range(len(calls) - size + 1)]
    looped = any(window[0] != window[1] and window == window[:2] * cycles for window in windows)
    evaluator = NoLoops(max_repeats=100, max_cycles=cycles)
    outcome = outcome_to_json(run_evaluator(evaluator, make_trace(tool_calls=calls)))
    assert outcome.get("verdict", "pass") == ("fail" if looped else "pass")
