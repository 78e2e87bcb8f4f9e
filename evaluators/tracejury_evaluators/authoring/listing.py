"""`tracejury evaluators`: the types there are, and one of them explained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracejury import terminal
from tracejury.errors import DefinitionError
from tracejury.evaluator.validation import nearest
from tracejury.terminal import one_line, visible
from tracejury_evaluators.authoring.apart import STARTUP_S, ask
from tracejury_evaluators.authoring.fields import FieldRow, field_rows
from tracejury_evaluators.authoring.orders import ListTypes, TypeRow
from tracejury_evaluators.authoring.setting import setup_of

OWN = "your own"
LOST = "the plugins could not be imported; let them run nothing on import"


def show_types(
    type_name: str | None, config: Path | None, plugins: Sequence[str], *, as_json: bool
) -> None:
    """Print all types, or all about one.

    Raises: DefinitionError for an unknown type, or where a plugin cannot be used.
    """
    order = ListTypes(setup=setup_of(config, plugins))
    rows = ask(order, STARTUP_S, LOST).types or []
    if type_name is not None:
        row = _named(rows, type_name)
        terminal.print_json(_document(row)) if as_json else _explain(terminal.console(), row)
    elif as_json:
        terminal.print_json({"types": [_document(row) for row in rows]})
    else:
        _list(terminal.console(), rows)


def _named(rows: Sequence[TypeRow], name: str) -> TypeRow:
    found = next((row for row in rows if row.type == name), None)
    if found is None:
        hint = nearest(name, [row.type for row in rows])
        raise DefinitionError(
            f"evaluator type {name!r} is unknown{hint or '; `tracejury evaluators` lists them all'}"
        )
    return found


def _document(row: TypeRow) -> dict[str, Any]:
    return row.model_dump(mode="json")


def _list(out: Console, rows: Sequence[TypeRow]) -> None:
    families = list(dict.fromkeys(row.family or OWN for row in rows))
    width = max((cell_len(visible(row.type)) for row in rows), default=0)
    for family in families:
        out.print(Text(family, style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, min_width=width)
        table.add_column(overflow="fold")
        for row in rows:
            if (row.family or OWN) == family:
                table.add_row(Text(visible(row.type), style="cyan"), Text(_first_sentence(row)))
        out.print(Padding(table, (0, 0, 1, 2)))
    out.print(Text(f"{len(rows)} types; `tracejury evaluators TYPE` explains one", style="dim"))


def _first_sentence(row: TypeRow) -> str:
    first = row.description.split("\n\n", 1)[0]
    return one_line(first.partition(". ")[0].rstrip("."), 200) or row.label


def _explain(out: Console, row: TypeRow) -> None:
    origin = "" if row.builtin else f", {row.origin}"
    head = Text.assemble((visible(row.type), "bold cyan"), f"  {one_line(row.label + origin)}")
    out.print(head)
    for paragraph in row.description.split("\n\n"):
        out.print()
        out.print(Text(one_line(paragraph)))
    _print_fields(out, "config", list(field_rows(row.config_schema, row.config_aliases)))
    _print_fields(out, "criteria", list(field_rows(row.criteria_schema, row.criteria_aliases)))
    out.print()
    out.print(Text("example", style="bold"))
    for line in (row.example or _made_example(row)).split("\n"):
        out.print(Text(f"  {visible(line)}"), soft_wrap=True)


def _print_fields(out: Console, title: str, fields: Sequence[FieldRow]) -> None:
    out.print()
    if not fields:
        out.print(Text.assemble((title, "bold"), "  none"))
        return
    out.print(Text(title, style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column, ratio in (("field", 0), ("type", 2), ("default", 0), ("meaning", 4)):
        table.add_column(column, ratio=ratio or None, overflow="fold")
    for field in fields:
        table.add_row(
            Text(visible(field.name), style="cyan"),
            Text(one_line(field.kind)),
            Text(one_line(field.default, 60)),
            Text(one_line(_meaning(field))),
        )
    out.print(Padding(table, (0, 0, 0, 2)))


def _meaning(field: FieldRow) -> str:
    also = f" (also {', '.join(field.other_names)})" if field.other_names else ""
    return f"{field.meaning}{also}".strip()


def _made_example(row: TypeRow) -> str:
    """An example out of the schema: the fields that have to be given, with their type as value."""
    fields = field_rows(row.config_schema, row.config_aliases)
    needed = {field.name: field.kind for field in fields if field.default == "required"}
    config = ", ".join(f"{name}: <{kind}>" for name, kind in needed.items())
    given = f", config: {{{config}}}" if config else ""
    return f"evaluators:\n  my-{row.type.rpartition('/')[2]}: {{type: {row.type}{given}}}"
