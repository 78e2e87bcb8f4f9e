"""AutoGen and AG2."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="autogen",
    label="AutoGen and AG2",
    scopes=("autogen-core", "autogen", "ag2"),
)
