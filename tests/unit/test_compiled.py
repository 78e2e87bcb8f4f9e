"""What a build compiles."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hatch_build import COMPILED, NOT_COMPILED, sources

from tracejury.assemble import assemble
from tracejury.dialects.decode import decode
from tracejury.doctor import is_compiled, run_checks
from tracejury.trace import SpanRecord

ROOT = Path(__file__).parents[2]
_CATCHES_ALL_THE_SAME = {"sdk/tracejury/dialects/decode.py"}  # around json, ast and orjson alone


@pytest.mark.parametrize("pattern", [*COMPILED, *NOT_COMPILED])
def test_the_list_names_modules(pattern: str) -> None:
    assert list(ROOT.glob(pattern))


@pytest.mark.parametrize("path", [*sources(ROOT)], ids=str)
def test_nothing_compiled_counts_on_an_end_of_recursion(path: Path) -> None:
    """In compiled code it never comes: the stack overflows, and the process ends."""
    caught = {
        name.id
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.ExceptHandler) and node.type is not None
        for name in ast.walk(node.type)
        if isinstance(name, ast.Name)
    }
    assert "RecursionError" not in caught or str(path) in _CATCHES_ALL_THE_SAME


@pytest.mark.parametrize(
    "opening", ["[", '{"content":', '{"parts":[{"content":', '[{"role":"user","content":']
)
def test_a_text_that_nests_without_end_is_no_end_of_the_process(opening: str) -> None:
    text = opening * 100_000
    span = SpanRecord(
        trace_id="ab" * 16,
        span_id="cd" * 8,
        start_ns=1,
        end_ns=2,
        attributes={"gen_ai.operation.name": "chat", "gen_ai.input.messages": text},
    )
    assert decode(text) == text
    assert assemble([span]).spans[0].span_id == "cd" * 8


def test_the_doctor_says_whether_it_is_compiled() -> None:
    (check,) = [check for check in run_checks(None, None) if check.name == "tracejury"]
    assert ("compiled" if is_compiled() else "plain Python") in check.detail
