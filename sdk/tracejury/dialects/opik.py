"""Opik."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="opik",
    label="Opik",
    scopes=("opik",),
    prefixes=("opik.",),
)
