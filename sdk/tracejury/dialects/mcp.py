"""Model Context Protocol."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="mcp",
    label="Model Context Protocol",
    prefixes=("mcp.",),
)
