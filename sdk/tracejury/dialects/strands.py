"""Strands Agents and AgentCore."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="strands",
    label="Strands Agents and AgentCore",
    running_totals=True,
    scopes=("strands.telemetry.tracer", "strands"),
)
