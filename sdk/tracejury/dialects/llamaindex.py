"""LlamaIndex."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="llamaindex",
    label="LlamaIndex",
    scopes=("llamaindex.opentelemetry.tracer",),
    prefixes=("llamaindex.",),
)
