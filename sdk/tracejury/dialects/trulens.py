"""TruLens."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="trulens",
    label="TruLens",
    scopes=("trulens",),
    prefixes=("ai.observability.",),
)
