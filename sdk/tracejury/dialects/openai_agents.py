"""OpenAI Agents SDK."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="openai_agents",
    label="OpenAI Agents SDK",
)
