"""Prompt templates: text with `{{variables}}` that are put in, once, and never executed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from tracejury.evaluator.validation import nearest

MAX_TEMPLATE_CHARS = 100_000
SUFFIXES = (".md", ".txt", ".prompt")
VARIABLE = re.compile(r"\{\{\s*([^{}]{0,200}?)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A text and the names of the variables in it, each once, in their order."""

    text: str
    names: tuple[str, ...]

    def filled(self, values: Mapping[str, str]) -> str:
        """The text with its variables replaced; what is put in is not looked at again."""
        return VARIABLE.sub(lambda match: values[match[1]], self.text)


def parse_template(text: str, is_known: Mapping[str, object] | Iterable[str]) -> Template:
    """The template in a text.

    Raises: ValueError for an unknown variable, naming the nearest, and for a text without any.
    """
    known = set(is_known)
    if len(text) > MAX_TEMPLATE_CHARS:
        raise ValueError(f"the template has {len(text)} characters; {MAX_TEMPLATE_CHARS} are taken")
    names = tuple(dict.fromkeys(VARIABLE.findall(text)))
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; known are {', '.join(sorted(known))}"
            raise ValueError(f"the template's variable {{{{{name[:80]}}}}} is unknown{hint}")
    if not names:
        raise ValueError(
            "the template has no variable, so the judge would see nothing of the trace; "
            "write {{candidate_answer}} where the answer belongs"
        )
    return Template(text, names)


def template_text(given: str) -> str:
    """The template as it was given, or the text of the file that was named.

    A text holds a variable or a line break; anything else is the path of a .md, .txt or .prompt
    file. Raises: ValueError where there is no such file.
    """
    if "{{" in given or "\n" in given:
        return given
    path = Path(given)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"the template {given[:200]!r} holds no {{{{variable}}}} and names no "
            f"{', '.join(SUFFIXES)} file"
        )
    return _read(path)


@cache
def built_in_template(name: str) -> str:
    """The text of a template that comes with the package."""
    folder = resources.files("tracejury_evaluators") / "templates"
    return (folder / f"{name}.md").read_text(encoding="utf-8")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TEMPLATE_CHARS * 4 + 1)
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValueError(f"the template file {str(path)!r} cannot be read: {reason}") from error
