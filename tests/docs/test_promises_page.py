"""The page of promises names what proves each of them, and all of it is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
ROWS = {int(row[0]): row[1:] for row in re.findall(r"^\| (\d+) \|(.*)\|(.*)\|(.*)\|$", PAGE, re.M)}
NUMBERS = [*range(1, 19), *range(20, 24), 32, 33]
TESTS = sorted((ROOT / "tests" / "promises").glob("test_*.py"))


def test_every_promise_has_a_row() -> None:
    assert list(ROWS) == NUMBERS
    assert all(cell.strip() for row in ROWS.values() for cell in row)


@pytest.mark.parametrize("number", NUMBERS)
def test_what_proves_a_promise_is_there(number: int) -> None:
    proof = ROWS[number][1]
    files = re.findall(r"`(tests/[\w/]+\.py)`", proof)
    targets = re.findall(r"`make ([\w-]+)`", proof)
    assert files or targets, "a promise without a proof"
    assert [name for name in files if not (ROOT / name).is_file()] == []
    assert [name for name in targets if not re.search(rf"^{name}:", MAKEFILE, re.M)] == []


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_a_test_with_a_number_is_named_in_the_row_of_its_promise(path: Path) -> None:
    number = re.fullmatch(r"test_(\d\d)_[a-z_0-9]+", path.stem)
    assert number, f"{path.name}: name it after its promise, like test_01_acknowledged.py"
    assert f"`tests/promises/{path.name}`" in ROWS[int(number[1])][1]


def test_the_long_proofs_are_run_by_name_and_all_together() -> None:
    named = set(re.findall(r"`make (soak-[\w-]+)`", PAGE))
    (together,) = re.findall(r"^soak: (.*)$", MAKEFILE, re.M)
    assert named <= set(together.split())
