"""DSPy."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="dspy",
    label="DSPy",
)
