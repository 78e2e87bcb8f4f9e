"""Writes `docs/parity.md` from the modes: `python -m tests.helpers.parity_docs`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.parity import DATA, Mode, case_ids
from tests.helpers.parity_modes import Tally, all_modes, tally

PAGE = Path(__file__).parents[2] / "docs" / "parity.md"

KINDS = {
    "t": "tool calls",
    "e": "failed tool calls",
    "k": "tool counts",
    "o": "tool outputs",
    "x": "texts",
    "l": "lists",
    "n": "numbers",
    "j": "JSON",
    "s": "JSON Schema",
}

HEAD = """# Other libraries, mode by mode

What ten libraries, run unmodified on the same cases, answer, and what our evaluators answer.
Each row is one mode of a library on one kind of case: *ours* is how it is written here, *equal*
on how many cases the answers are the same (numbers to 1e-9), *different on purpose* on how many
they are not, with the reason. Modes that are not offered say why. Cases and answers are data in
`tests/data/parity`; `tests/unit/test_parity.py` compares them all.

Written by `python -m tests.helpers.parity_docs`.
"""


def page() -> str:
    """Return the whole page."""
    modes = all_modes()
    libraries = sorted({mode.library for mode in modes})
    sections = [
        _section(name, [mode for mode in modes if mode.library == name]) for name in libraries
    ]
    return "\n".join([HEAD, *sections])


def _section(library: str, modes: list[Mode]) -> str:
    offered = [mode for mode in modes if mode.ours]
    left_out = [mode for mode in modes if not mode.ours]
    lines = [f"## {library}", "", f"Recorded with {_versions(library)}.", ""]
    if offered:
        lines += [
            "| mode | cases | ours | equal | different on purpose |",
            "|---|---|---|---|---|",
            *map(_offered, offered),
            "",
        ]
    if left_out:
        lines += ["| mode not offered | cases | why |", "|---|---|---|", *map(_not, left_out), ""]
    return "\n".join(lines)


def _offered(mode: Mode) -> str:
    counts = tally(mode)
    cells = [f"`{mode.mode}`", _cases(mode), f"`{mode.ours}`", str(counts.equal)]
    return _row([*cells, _different(mode, counts)])


def _different(mode: Mode, counts: Tally) -> str:
    reasons = [f"{number}: {reason}" for reason, number in sorted(counts.different.items())]
    return "; ".join([*(reasons or ["0"]), *([mode.note] if mode.note else [])])


def _not(mode: Mode) -> str:
    return _row([f"`{mode.mode}`", _cases(mode), mode.note])


def _cases(mode: Mode) -> str:
    return f"{len(case_ids(mode))} {KINDS[mode.kind]}"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _versions(library: str) -> str:
    data = json.loads((DATA / "answers" / f"{library}.json").read_text(encoding="utf-8"))
    return ", ".join(f"{name} {version}" for name, version in sorted(data["versions"].items()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
