"""VoltAgent."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="voltagent",
    label="VoltAgent",
    scopes=("voltagent", "@voltagent"),
    prefixes=("voltagent.",),
)
