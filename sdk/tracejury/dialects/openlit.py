"""OpenLIT."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="openlit",
    label="OpenLIT",
    scopes=("openlit",),
)
