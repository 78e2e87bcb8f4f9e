"""What is printed cannot steer the terminal it is printed on."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tracejury import terminal
from tracejury.cli_views import print_explanation
from tracejury.rest import Explanation

HOSTILE = "\x1b[2J\x1b]0;owned\x07 \u202eevil\u2069 \x9b31m [bold]x[/bold] :smile:"


@given(st.text())
def test_no_text_brings_a_control_character_to_the_terminal(text: str) -> None:
    shown = terminal.visible(text)
    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)
    assert not any(0x7F <= ord(c) <= 0x9F or c in "\u202e\u2066\u2028" for c in shown)


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_line_of_the_width(text: str, width: int) -> None:
    line = terminal.one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line


def test_a_table_shows_hostile_cells_and_column_names_as_plain_text() -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=200, highlight=False)
    out.print(terminal.table("", [(HOSTILE, "left")], [[HOSTILE], [{"k": HOSTILE}]]))
    printed = out.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[2J" not in printed
    assert "\x1b]0" not in printed
    assert "\u202e" not in printed
    assert "[bold]x[/bold]" in printed
    assert ":smile:" in printed


def test_json_output_is_one_document_without_raw_controls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal.print_json({"text": HOSTILE, "price": None})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"text": HOSTILE, "price": None}
    assert not any(c in printed for c in "\x1b\x9b\u202e\x07")


@pytest.mark.parametrize(
    ("usd", "shown"), [(None, "-"), (0.0, "$0"), (0.00329, "$0.00329"), (12.5, "$12.5")]
)
def test_an_unknown_price_is_not_a_price_of_zero(usd: float | None, shown: str) -> None:
    assert terminal.money(usd) == shown


def test_a_reason_with_line_breaks_cannot_pass_for_lines_of_the_story(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = ["rule 'x': selected", "  fast: fail, slow\nrule 'y': selected\r"]
    print_explanation(Explanation(trace_id="1" * 32, lines=lines))
    assert capsys.readouterr().out.splitlines() == [
        "rule 'x': selected",
        "  fast: fail, slow rule 'y': selected",
    ]
