"""CrewAI."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="crewai",
    label="CrewAI",
    scopes=("crewai",),
    prefixes=("crewai.",),
)
