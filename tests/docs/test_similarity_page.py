"""The page about similarity: its program runs, every public function is on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.doc_blocks import Block, read_blocks, run_program
from tracejury import similarity

PAGE = (Path(__file__).parents[2] / "docs" / "similarity.md").read_text(encoding="utf-8")
BLOCKS = read_blocks(PAGE)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_program_on_the_page_runs(block: Block, tmp_path: Path) -> None:
    assert block.language == "python"
    run_program(block.text, tmp_path)


@pytest.mark.parametrize("name", similarity.__all__)
def test_every_function_is_on_the_page_and_in_its_program(name: str) -> None:
    assert f"| `{name}(" in PAGE
    assert any(f" {name}(" in block.text or f"({name}(" in block.text for block in BLOCKS)
