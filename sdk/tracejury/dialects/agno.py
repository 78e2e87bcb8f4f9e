"""Agno."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="agno",
    label="Agno",
    scopes=("agno",),
    prefixes=("agno.",),
)
