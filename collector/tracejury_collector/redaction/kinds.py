"""The patterns that are sought: what each finds, and whether that is what it looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from tracejury_collector.config import RedactionSettings
from tracejury_evaluators.patterns import compiled
from tracejury_evaluators.safety.pii import CHECKS, PATTERNS
from tracejury_evaluators.safety.secrets import FORMATS

_EMAIL: Final = PATTERNS["email"].replace("@", "(?:@|%40)")
_KEYS: Final = {
    **FORMATS,
    "key of this service": r"\b(tj_[0-9a-f]{12}_[0-9a-f]{64})\b",
    "private key": r"(-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[A-Za-z0-9+/=\s:,.]|-[A-Za-z0-9])*?-----END [A-Z0-9 ]{1,60}-----|[A-Za-z0-9+/=\s]*))",
    "bearer token": r"(?i:\bbearer)\s+([A-Za-z0-9\-._~+/]{20,}=*)",
    "basic credentials": r"(?i:authorization\W{1,6}basic)\s+([A-Za-z0-9+/]{6,}=*)",
    "password in a URL": r"\b[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s:/@]{0,64}:([^\s:/@]{3,128})@",
}
"""Keys by their form; of a private key the whole block, and what there is of it if it is cut."""


_BOUND: Final = re.compile(r"\\[AzZQ\\]|(?<!\[)[\^$]")


class Kind(NamedTuple):
    """A pattern: group `group` of what it matches is a value, if the check says so."""

    name: str
    pattern: str
    expression: Any
    group: int
    check: Callable[[str], bool] | None


def known_kinds(settings: RedactionSettings) -> Sequence[Kind]:
    """Return the built-in patterns that are asked for."""
    return [*_known(settings)]


def _known(settings: RedactionSettings) -> Iterator[Kind]:
    for name in settings.patterns:
        if name == "keys":
            for pattern in _KEYS.values():
                yield Kind(name, pattern, compiled(pattern), 1, None)
        else:
            pattern = _EMAIL if name == "email" else PATTERNS[name]
            yield Kind(name, pattern, compiled(pattern), 1, CHECKS[name])


def own_kinds(settings: RedactionSettings) -> Sequence[Kind]:
    """Return the patterns that the user brings."""
    found = []
    for name, pattern in settings.custom.items():
        expression = compiled(pattern)
        found.append(Kind(name, pattern, expression, min(expression.groups, 1), None))
    return found


def is_free(pattern: str) -> bool:
    """Whether what a pattern matches does not depend on where the text around it begins or ends.

    No text boundaries and no backslashes are in it; in doubt it is not.
    """
    return _BOUND.search(pattern) is None
