"""Braintrust."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="braintrust",
    label="Braintrust",
    scopes=("braintrust",),
    prefixes=("braintrust.",),
)
