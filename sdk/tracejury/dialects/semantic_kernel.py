"""Semantic Kernel."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="semantic_kernel",
    label="Semantic Kernel",
    scopes=("semantic_kernel",),
    prefixes=("sk.",),
)
