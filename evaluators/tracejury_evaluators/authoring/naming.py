"""The names that one evaluator has: of its type, its file, its class."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from importlib.metadata import packages_distributions

from tracejury.errors import DefinitionError
from tracejury_evaluators.registry import built_in_registry

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_ ][A-Za-z0-9]+)*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")
MAX_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """`cites-sources`, `cites_sources`, `CitesSources`."""

    kebab: str
    snake: str
    pascal: str


def names_of(given: str) -> Names:
    """The names made of one that a user gave: `cites-sources`, `cites_sources`, `CitesSources`.

    Raises: DefinitionError where none can be made of it.
    """
    words = [word.lower() for part in re.split("[-_ ]", given) for word in _WORD.findall(part)]
    if not _NAME.fullmatch(given) or len(given) > MAX_CHARS:
        raise DefinitionError(
            f"{given[:80]!r} is no name for an evaluator; use at most {MAX_CHARS} letters and "
            "digits, words joined by hyphens, such as cites-sources"
        )
    snake = "_".join(words)
    if keyword.iskeyword(snake):
        raise DefinitionError(
            f"{given!r} is a word of Python; add one to it, such as {snake}-check"
        )
    return Names(kebab="-".join(words), snake=snake, pascal="".join(w.capitalize() for w in words))


def refuse_hidden(names: Names) -> None:
    """Refuse a name whose file would hide a module, or whose type is built in.

    Raises: DefinitionError saying which.
    """
    taken = ""
    if names.snake in sys.stdlib_module_names or names.snake in packages_distributions():
        taken = f"a Python module is named {names.snake!r}, and {names.snake}.py would hide it"
    elif built_in_registry().knows(names.kebab):
        taken = f"{names.kebab!r} is an evaluator that is built in"
    if taken:
        raise DefinitionError(f"{taken}; choose another name, such as my-{names.kebab}")


def names_of_class(name: str) -> Names:
    """The names made of a class's."""
    return names_of(name.strip("_") or "evaluator")
