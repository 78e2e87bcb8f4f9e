"""What is printed cannot steer the terminal it is printed on."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tracejury import terminal
from tracejury.cli.show import print_explanation, print_session
from tracejury.rest import SessionDetail, TraceSummary

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


def printed_rows(columns: list[str], row: list[object], width: int = 80) -> list[str]:
    out = Console(file=io.StringIO(), width=width, highlight=False)
    terminal.print_rows(out, [(name, "left") for name in columns], [row])
    return out.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_a_long_text_is_cut_and_the_id_beside_it_is_not() -> None:
    lines = printed_rows(["trace_id", "output"], ["f" * 32, "word " * 40])
    assert [len(line) <= 80 for line in lines] == [True, True]
    assert lines[1].startswith("f" * 32 + "  word word")
    assert lines[1].endswith("…")


def test_a_styled_cell_is_shown_as_its_text() -> None:
    assert printed_rows(["status"], [Text("firing", style="red")])[1].strip() == "firing"


def test_rows_that_are_too_wide_are_printed_one_value_a_line() -> None:
    names = [f"column_{n}" for n in range(12)]
    values: list[object] = [f"value of {n}" for n in range(12)]
    lines = printed_rows(names, values)
    assert lines[0] == "row 1"
    found = dict(line.split(maxsplit=1) for line in lines[1:])
    assert found == dict(zip(names, values, strict=True))


@given(st.lists(st.text(max_size=100), min_size=1, max_size=6), st.integers(20, 120))
def test_a_table_of_rows_is_never_wider_than_the_terminal(cells: list[str], width: int) -> None:
    lines = printed_rows([f"c{n}" for n in range(len(cells))], list(cells), width)
    assert lines[0] == "row 1" or all(cell_len(line) <= width for line in lines)


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
    print_explanation(lines)
    assert capsys.readouterr().out.splitlines() == [
        "rule 'x': selected",
        "  fast: fail, slow rule 'y': selected",
    ]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_session_shows_question_answer_and_state_in_every_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    trace = TraceSummary(
        trace_id="ab" * 16, status="complete", input="question " * 20, output="answer " * 20
    )
    none = {"span_count": 0, "llm_calls": 0, "tool_calls": 0, "error_count": 0}
    print_session(
        SessionDetail.model_validate(
            {"session_id": "s", "project": "p", "runs": 1, "traces_with_error": 0, **none}
            | {"trace_count": 1, "traces": [trace]}
        )
    )
    head, line = capsys.readouterr().out.splitlines()[-2:]
    assert cell_len(line) <= width
    assert head.split()[-1] == "state"
    assert line.startswith("ab" * 16)
    assert "question" in line
    assert "answer" in line
    assert line.split()[-1] == "done"
