"""smolagents."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="smolagents",
    label="smolagents",
)
