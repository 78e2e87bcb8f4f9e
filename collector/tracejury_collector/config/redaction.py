"""The section that says what is taken out of spans, log records and labels before storage."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from tracejury_collector.config.fields import Section
from tracejury_evaluators.patterns import Pattern, compiled

MAX_NAMES = 1_000
MAX_CUSTOM = 100
ATTRIBUTE = "attribute"
"""The name of what is taken out because of the name of its attribute."""

KnownPattern = Literal["email", "phone", "card", "iban", "us_ssn", "ip_address", "keys"]
CustomName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,39}$")]
Glob = Annotated[str, Field(min_length=1, max_length=200)]


class RedactionSettings(Section):
    """What becomes `[redacted:NAME]` before it is stored."""

    patterns: list[KnownPattern] = Field(
        default=[],
        description="what is known by its form: `email`, `phone`, `card`, `iban`, `us_ssn`, "
        "`ip_address`, `keys` ([redaction.md](redaction.md))",
    )
    custom: dict[CustomName, Pattern] = Field(
        default={},
        max_length=MAX_CUSTOM,
        description="RE2 patterns of your own by name; with a group, its first one is what is "
        "taken out",
    )
    attributes: list[Glob] = Field(
        default=[],
        max_length=MAX_NAMES,
        description="names of attributes, or of keys in them, whose values are taken out whole, "
        "case aside; `*` stands for anything",
    )
    keep: list[Glob] = Field(
        default=[],
        max_length=MAX_NAMES,
        description="names of attributes that patterns pass over, such as `session.id`",
    )

    @model_validator(mode="after")
    def _names_are_new(self) -> Self:
        taken = {*get_args(KnownPattern), ATTRIBUTE} & {*self.custom}
        if taken:
            raise ValueError(f"custom: {sorted(taken)[0]!r} is a name of its own; choose another")
        return self

    @model_validator(mode="after")
    def _find_something(self) -> Self:
        for name, pattern in self.custom.items():
            found = [compiled(pattern).search(sample) for sample in (b"", b"a1 ")]
            if any(match is not None and not match[0] for match in found):
                raise ValueError(
                    f"custom.{name}: the pattern matches nothing at all, so everywhere; "
                    "make it ask for at least one character"
                )
        return self

    @property
    def is_active(self) -> bool:
        """Whether anything is taken out."""
        return bool(self.patterns or self.custom or self.attributes)
