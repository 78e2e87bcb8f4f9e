"""Code blocks of Markdown pages."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^([ \t]*)```(\w*)[^\n]*\n(.*?)^\1```[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block: its place is the heading over it and its number under that, from 1."""

    heading: str
    number: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """`Heading` for the first block under a heading, `Heading (2)` for the second."""
        return self.heading if self.number == 1 else f"{self.heading} ({self.number})"


def read_blocks(page: str) -> list[Block]:
    """The fenced blocks of a page in order."""
    fences = list(_FENCE.finditer(page))
    headings = [
        match
        for match in _HEADING.finditer(page)
        if not any(fence.start() < match.start() < fence.end() for fence in fences)
    ]
    found: list[Block] = []
    for fence in fences:
        over = [match[2] for match in headings if match.start() < fence.start()]
        heading = over[-1] if over else ""
        number = 1 + sum(block.heading == heading for block in found)
        text = re.sub(rf"^{fence[1]}", "", fence[3], flags=re.MULTILINE)
        found.append(Block(heading=heading, number=number, language=fence[2], text=text))
    return found


def run_program(text: str, folder: Path) -> None:
    """Run a Python program; warnings are errors, and so is anything on standard error."""
    path = folder / "example.py"
    path.write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=60,
    )
    assert (run.returncode, run.stderr) == (0, "")
