"""The names that one evaluator has: of its type, its file, its class."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from tracejury.errors import DefinitionError

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


def names_of_class(name: str) -> Names:
    """The names made of a class's."""
    return names_of(name.strip("_") or "evaluator")
