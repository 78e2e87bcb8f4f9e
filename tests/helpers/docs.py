"""The parts of the documentation that are made from the code.

`python -m tests.helpers.docs` rewrites the table of docs/configuration.md, and the example and the
fields of docs/custom-dialects.md; and from docs/sql.md the comments in the database.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tracejury.dialects.rules import Field
from tracejury_collector.config import Config
from tracejury_collector.config.fields import section_of

DOCS = Path(__file__).parents[2] / "docs"
COMMENTS = DOCS.parent / "collector" / "tracejury_collector" / "store" / "comments.json"
_SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_COLUMN = re.compile(r"^\| `(\w+)` \| \S+ \| (.*) \|$", re.MULTILINE)
_UNITS_BYTES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_EXAMPLE = re.compile(r"(<!-- example -->\n).*(<!-- /example -->)", re.DOTALL)
_FIELDS = re.compile(r"(<!-- fields -->\n).*(<!-- /fields -->)", re.DOTALL)
_TABLE = re.compile(r"(<!-- settings -->\n).*(<!-- /settings -->)", re.DOTALL)


def settings(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield every setting by its dotted name; NAME stands for a name that the user chooses."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        section = section_of(field.annotation)
        named = _named_section(field.annotation)
        if section is None:
            yield path, field
        else:
            yield from settings(section, f"{path}.")
        if named is not None:
            yield from settings(named, f"{path}.NAME.")


def settings_table() -> str:
    """Return the table of all settings in Markdown."""
    rows = [
        f"| `{path}` | {_default(field)} | {_cell(field.description or '')} |"
        for path, field in settings()
    ]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows]) + "\n"


def with_settings_table(text: str) -> str:
    """Return the page with its table of settings brought up to date."""
    return _TABLE.sub(lambda match: match[1] + settings_table() + match[2], text)


def _named_section(annotation: Any) -> type[BaseModel] | None:
    """Return the model in dict[str, Model], also where None is allowed beside it."""
    for candidate in (annotation, *typing.get_args(annotation)):
        if typing.get_origin(candidate) is dict:
            return section_of(typing.get_args(candidate)[1])
    return None


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "(required)"
    if value is None:
        return "(left out)"
    is_bytes = "in bytes" in (field.description or "")
    if is_bytes or "request bytes" in (field.description or ""):
        return next(f"`{value // size}{unit}`" for unit, size in _UNITS_BYTES if value % size == 0)
    if "in seconds" in (field.description or "") and isinstance(value, int | float):
        return f"`{value:g}s`"
    return f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def with_dialect_example(text: str) -> str:
    """Return the page about dialects of one's own with its example and its fields."""
    example = (DOCS.parent / "examples" / "acme-dialect.yaml").read_text("utf-8")
    fields = ", ".join(f"`{name}`" for name in typing.get_args(Field))
    text = _EXAMPLE.sub(lambda match: f"{match[1]}```yaml\n{example}```\n{match[2]}", text)
    return _FIELDS.sub(lambda match: f"{match[1]}{fields}\n{match[2]}", text)


def sql_examples() -> list[str]:
    """Return the statements of docs/sql.md."""
    page = (DOCS / "sql.md").read_text("utf-8")
    examples = page.split("<!-- examples -->")[1].split("<!-- /examples -->")[0]
    statements = examples.replace("```sql", "").replace("```", "").split(";")
    return [statement.strip() for statement in statements if statement.strip()]


def view_comments() -> str:
    """Return the comments on views and columns as JSON, as docs/sql.md tells them."""
    page = (DOCS / "sql.md").read_text("utf-8")
    found: dict[str, dict[str, str]] = {}
    for view, section in _SECTION.findall(page):
        columns = {name: _meaning(text) for name, text in _COLUMN.findall(section)}
        if columns:
            found[view] = {"": " ".join(section.partition("|")[0].split()), **columns}
    found["scores_history"] = {**found["scores"], **found["scores_history"]}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _meaning(text: str) -> str:
    return text if "NULL" in text else f"{text}; never NULL"


if __name__ == "__main__":
    COMMENTS.write_text(view_comments(), encoding="utf-8")
    own = DOCS / "custom-dialects.md"
    own.write_text(with_dialect_example(own.read_text("utf-8")), encoding="utf-8")
    page = DOCS / "configuration.md"
    page.write_text(with_settings_table(page.read_text("utf-8")), encoding="utf-8")
