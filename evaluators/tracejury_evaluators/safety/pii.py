"""The evaluator that finds personal data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from tracejury.evaluator import Criteria
from tracejury.result import Skip
from tracejury.trace import Trace
from tracejury_evaluators.patterns import AnyOf, Pattern, compiled, encoded
from tracejury_evaluators.safety.allow import MAX_ALLOWED, allowed
from tracejury_evaluators.safety.numbers import (
    is_card,
    is_iban,
    is_ip_address,
    is_phone,
    is_us_ssn,
)
from tracejury_evaluators.safety.passages import WHERE, Place
from tracejury_evaluators.safety.scan import Finder, Hit, Scan, candidates, masked

PiiKind = Literal["email", "phone", "card", "iban", "us_ssn", "ip_address"]

MAX_PATTERNS = 100
MAX_EMAIL_CHARS = 254
PATTERNS: Mapping[PiiKind, str] = {
    "email": r"([\p{L}\p{N}._%+\-]+@[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)*\.\p{L}{2,})",
    "phone": r"(?:^|[^\p{L}\p{N}.\-])"
    r"(\+\d(?:[ ()./\-]{0,2}\d){6,16}|"
    r"(?:1[ .\-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .\-])\d{3}[ .\-]\d{4})(?:$|[^\p{L}\p{N}\-])",
    "card": r"(?:^|[^\p{L}\p{N}.\-])"
    r"(\d{4}[ \-]\d{4}[ \-]\d{4}[ \-]\d{1,7}|\d{4}[ \-]\d{6}[ \-]\d{4,5}|\d{13,19})"
    r"(?:$|[^\p{L}\p{N}])",
    "iban": r"(?:^|[^\p{L}\p{N}])([A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30})",
    "us_ssn": r"(?:^|[^\p{L}\p{N}\-])(\d{3}-\d{2}-\d{4})(?:$|[^\p{L}\p{N}\-])",
    "ip_address": r"(?:^|[^\p{L}\p{N}.:])([0-9A-Fa-f.:]{3,45})",
}
CHECKS: Mapping[PiiKind, Callable[[str], bool]] = {
    "email": lambda text: len(text) <= MAX_EMAIL_CHARS,
    "phone": is_phone,
    "card": is_card,
    "iban": is_iban,
    "us_ssn": is_us_ssn,
    "ip_address": is_ip_address,
}
Kind = tuple[str, Any, Callable[[str], bool], int]
"""The name of a kind, its pattern, its check, and the group of the pattern that is the value."""


def _always(_text: str) -> bool:
    return True


class NoPii(Scan[Criteria]):
    """Passes if no personal data is found where it looks.

    Found are e-mail addresses; phone numbers, international ones with a plus and North American
    ones; payment card numbers with a valid check digit; IBANs with valid check digits; United
    States social security numbers; and, if asked for, IP addresses. `patterns` adds own kinds.
    What is found is told by its shape alone: letters as x, digits as #. Values in `allow`, and
    with `allow_from_input` those that the user wrote, are let through. Skipped where there is
    nothing to look at, and where nothing was found but something was not captured, truncated or
    redacted.
    """

    type: ClassVar[str] = "no-pii"
    label: ClassVar[str] = "No personal data"

    where: list[Place] = Field(default=["output"], min_length=1, description=WHERE)
    kinds: list[PiiKind] = Field(
        default=["email", "phone", "card", "iban", "us_ssn"],
        description="what to look for: email, phone, card, iban, us_ssn, ip_address",
    )
    patterns: dict[str, Pattern] = Field(
        default={}, max_length=MAX_PATTERNS, description="own kinds: RE2 patterns by name"
    )
    allow: list[str] = Field(
        default=[],
        max_length=MAX_ALLOWED,
        description="values let through, case aside; * stands for anything, as in *@acme.com",
    )
    allow_from_input: bool = Field(
        default=False, description="whether values that the user wrote are let through"
    )

    @cached_property
    def _known(self) -> tuple[AnyOf, Sequence[Kind]]:
        """All patterns together, and each with its kind."""
        each = [(kind, compiled(PATTERNS[kind]), CHECKS[kind], 1) for kind in self.kinds]
        return AnyOf([PATTERNS[kind] for kind in self.kinds]), each

    @cached_property
    def _own(self) -> Sequence[Kind]:
        return [(name, compiled(text), _always, 0) for name, text in self.patterns.items()]

    @cached_property
    def _allowed(self) -> Callable[[str], bool]:
        return allowed(self.allow)

    def places(self) -> Sequence[Place]:
        return self.where

    def finder(self, trace: Trace, _criteria: Criteria) -> Finder | Skip:
        asked = [trace.input_text, *(turn.input for turn in trace.turns)]
        known = "\n".join(asked).casefold() if self.allow_from_input else ""
        return lambda text: self._found(text, known)

    def _found(self, text: str, known: str) -> Iterator[Hit]:
        data = encoded(text)
        any_known, each = self._known
        seen = [each[position] for position in any_known.matching(data)] if text else []
        for kind, expression, check, group in (*seen, *self._own):
            for value in candidates(expression, data, group, check):
                if (
                    value
                    and not self._allowed(value)
                    and (not known or value.casefold() not in known)
                ):
                    yield Hit(kind=kind, shown=masked(value))
