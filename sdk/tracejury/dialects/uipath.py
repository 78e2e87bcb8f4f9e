"""UiPath."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="uipath",
    label="UiPath",
    prefixes=("uipath.",),
)
