"""Genkit."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="genkit",
    label="Genkit",
    scopes=("genkit",),
    prefixes=("genkit:",),
)
