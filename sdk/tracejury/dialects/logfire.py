"""Logfire."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="logfire",
    label="Logfire",
    scopes=("logfire",),
    prefixes=("logfire.",),
)
