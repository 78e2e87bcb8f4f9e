"""The page about tool calls: every program on it runs, every function is on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.doc_blocks import Block, read_blocks, run_program
from tracejury import toolcalls

PAGE = (Path(__file__).parents[2] / "docs" / "tool-calls.md").read_text(encoding="utf-8")
BLOCKS = read_blocks(PAGE)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_program_on_the_page_runs(block: Block, tmp_path: Path) -> None:
    assert block.language == "python"
    run_program(block.text, tmp_path)


@pytest.mark.parametrize(
    "name", [n for n in vars(toolcalls) if n.startswith(("extract", "trace_"))]
)
def test_every_function_is_on_the_page(name: str) -> None:
    assert f"| `{name}(source" in PAGE
