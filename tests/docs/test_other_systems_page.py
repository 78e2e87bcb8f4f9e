"""The page about other systems: every line is proven, every block of their documents is on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.doc_blocks import Block, read_blocks, run_program
from tests.helpers.seeds import DOCUMENTS, IMPORTS, blocks_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "other-systems.md").read_text(encoding="utf-8")
BLOCKS = read_blocks(PAGE)
NO_TEST = "–"
WORDS = ("as is", "imports", "native", "later")


def rows(system: str, title: str) -> list[tuple[str, str, str]]:
    """The lines of a system's table: what, how, and the test that proves it."""
    section = PAGE.split(f"\n## {system}\n")[1].split("\n## ")[0]
    table = section.split(f"| {title} | how | test |\n|---|---|---|\n")[1].split("\n\n")[0]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| \n")) for line in table.splitlines()]
    assert all(len(cell) == 3 for cell in cells)
    return [(what, how, test) for what, how, test in cells]


ALL = [
    (system, *row)
    for system in DOCUMENTS
    for title in ("code", "capability")
    for row in rows(system, title)
]


@pytest.mark.parametrize(("system", "what", "how", "test"), ALL, ids=lambda value: value[:60])
def test_a_line_names_a_test_that_exists(system: str, what: str, how: str, test: str) -> None:
    assert any(word in how for word in WORDS)
    if test == NO_TEST:
        assert how.startswith("later")
        return
    path, name = test.strip("`").split("::")
    source = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^ *(async )?def {name}\(", source, re.MULTILINE)


@pytest.mark.parametrize("system", DOCUMENTS)
def test_every_block_of_a_document_is_on_the_page(system: str) -> None:
    assert [what for what, _, _ in rows(system, "code")] == [b.place for b in blocks_of(system)]


@pytest.mark.parametrize("module", IMPORTS)
def test_every_module_whose_imports_change_is_on_the_page(module: str) -> None:
    assert f"`{module}`" in PAGE
    assert f"`{IMPORTS[module]}`" in PAGE


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_program_on_the_page_runs(block: Block, tmp_path: Path) -> None:
    assert block.language == "python"
    run_program(block.text, tmp_path)
